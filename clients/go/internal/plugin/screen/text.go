package screen

import (
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// none stands for a cell that is empty.
const none = "-"

// plain is a text on one line, without anything that steers a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(text), " "))
}

// wrap breaks a text between words. There is one line at least.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// age is how long something exists, as kubectl writes it.
func age(created metav1.Time, now time.Time) string {
	if created.IsZero() {
		return none
	}
	return duration.HumanDuration(now.Sub(created.Time))
}

// expiry is when something expires.
func expiry(at *metav1.Time, now time.Time) string {
	switch {
	case at.IsZero():
		return none
	case !at.After(now):
		return "expired"
	}
	return "in " + duration.HumanDuration(at.Sub(now))
}
