// Package observe reads what package explain decides from. What may not be read is passed over and told.
package observe
