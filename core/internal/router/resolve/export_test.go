package resolve

// Sizes are how many Pods, Sandboxes, UIDs and addresses the index knows.
func (x *Index) Sizes() [4]int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return [4]int{len(x.pods), len(x.bySandbox), len(x.byUID), len(x.byAddress)}
}
