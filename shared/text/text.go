// Package text keeps what is written for people within the bounds that the API sets.
package text

import "unicode/utf8"

// ellipsis marks where a text was cut.
const ellipsis = "…"

// Cut returns text in limit bytes at the most, ending in an ellipsis where something is missing. It never
// splits a character. The limit must leave room for the ellipsis.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
