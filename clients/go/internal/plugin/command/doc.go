// Package command owns the verbs of the plugin: their flags and arguments, and what they do in which order.
package command
