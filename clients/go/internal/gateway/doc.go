// Package gateway finds the address at which a Gateway of the Gateway API is reached, and trusts none that is not plainly one.
package gateway
