package consistency

import "testing"

func TestEchoes(t *testing.T) {
	e := NewEchoes[string]()
	if e.IsEcho("a", "1") {
		t.Error("nothing was written, as after a restart: nothing is an echo")
	}
	e.Wrote("a", "1")
	e.Wrote("a", "2")
	for version, want := range map[string]bool{"1": false, "2": true, "3": false} {
		if got := e.IsEcho("a", version); got != want {
			t.Errorf("version %s is an echo: %v, want %v", version, got, want)
		}
	}
	if e.IsEcho("b", "2") {
		t.Error("another object's version is no echo")
	}
	e.Forget("a")
	e.Forget("never seen")
	if e.IsEcho("a", "2") || e.Len() != 0 {
		t.Error("Forget leaves nothing behind")
	}
}
