// Package demo shows what a Sandbox is: it tells the life of two of them on a real control plane as a timeline.
package demo
