package names

import "testing"

func TestHash(t *testing.T) {
	// The published offset basis of 32-bit FNV-1a, and a vector of its reference suite.
	for name, want := range map[string]string{"": "811c9dc5", "foobar": "bf9cf968"} {
		if got := Hash(name); got != want {
			t.Errorf("Hash(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	a, err := Fingerprint(map[string]int{"a": 1, "b": 2})
	if err != nil {
		t.Fatal(err)
	}
	same, _ := Fingerprint(map[string]int{"b": 2, "a": 1})
	other, _ := Fingerprint(map[string]int{"a": 1, "b": 3})
	if a != same || a == other || len(a) != 16 {
		t.Errorf("fingerprints: %q, same value %q, other value %q", a, same, other)
	}
	if _, err := Fingerprint(make(chan int)); err == nil {
		t.Error("a value without a JSON form has no fingerprint")
	}
}
