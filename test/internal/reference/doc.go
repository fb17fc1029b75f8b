// Package reference writes the tables of flags and metrics into the documents, from what the controllers and the router themselves register.
package reference
