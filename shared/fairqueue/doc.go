// Package fairqueue decides whose turn it is: the work queue of a controller in which namespaces take turns, so that one with ten
// thousand requests does not make the single request of another wait for more than a turn.
package fairqueue
