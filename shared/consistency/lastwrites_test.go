package consistency

import "testing"

// A3.26: what is known of an owner goes with it.
func TestLastWrites(t *testing.T) {
	writes := NewLastWrites[string, string]()
	if _, ok := writes.Of("claim"); ok {
		t.Error("knows of a write that never was")
	}
	writes.Record("claim", Write[string]{Object: "box", Unanswered: true})
	writes.Record("claim", Write[string]{Object: "box"})
	if write, ok := writes.Of("claim"); !ok || write != (Write[string]{Object: "box"}) {
		t.Errorf("knows of %+v, %v", write, ok)
	}
	writes.Forget("claim")
	if writes.Len() != 0 {
		t.Errorf("keeps %d", writes.Len())
	}
}
