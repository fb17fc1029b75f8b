// Package thing breaches one rule in each marked line.
package thing
