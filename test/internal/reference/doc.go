// Package reference writes the tables of flags and metrics into the documents, from what the controllers themselves register.
package reference
