package consistency

import "testing"

func TestEchoes(t *testing.T) {
	e := NewEchoes[string]()
	if e.IsEcho("a", "1") {
		t.Error("nothing was written, as after a restart: nothing is an echo")
	}
	e.Writes("a", "1")
	e.Writes("a", "2")
	for content, want := range map[string]bool{"1": false, "2": true, "3": false} {
		if got := e.IsEcho("a", content); got != want {
			t.Errorf("%s is an echo: %v, want %v", content, got, want)
		}
	}
	if e.IsEcho("b", "2") {
		t.Error("another object's content is no echo")
	}
	e.Forget("a")
	e.Forget("never seen")
	if e.IsEcho("a", "2") || e.Len() != 0 {
		t.Error("Forget leaves nothing behind")
	}
}
