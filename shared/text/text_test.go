package text

import "testing"

func TestCut(t *testing.T) {
	cases := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"what fits stays":                   {"abcdef", 6, "abcdef"},
		"what does not is marked":           {"abcdefg", 6, "abc…"},
		"a character of two bytes is whole": {"abéfghij", 6, "ab…"},
		"nothing stays nothing":             {"", 6, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Cut(tc.text, tc.limit); got != tc.want || len(got) > tc.limit {
				t.Errorf("Cut = %q (%d bytes), want %q", got, len(got), tc.want)
			}
		})
	}
}
