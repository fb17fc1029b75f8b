package candidates

import "container/heap"

// ordered is a heap whose elements know where they stand, so that any of them can be taken out.
type ordered[T any] struct {
	items []T
	less  func(a, b T) bool
	place func(item T, index int)
}

// The methods of heap.Interface.

func (o *ordered[T]) Len() int           { return len(o.items) }
func (o *ordered[T]) Less(i, j int) bool { return o.less(o.items[i], o.items[j]) }

func (o *ordered[T]) Swap(i, j int) {
	o.items[i], o.items[j] = o.items[j], o.items[i]
	o.place(o.items[i], i)
	o.place(o.items[j], j)
}

func (o *ordered[T]) Push(x any) {
	item := x.(T) //nolint:forcetypeassert // Only add pushes.
	o.items = append(o.items, item)
	o.place(item, len(o.items)-1)
}

func (o *ordered[T]) Pop() any {
	last := len(o.items) - 1
	item := o.items[last]
	var none T
	o.items[last] = none
	o.items = o.items[:last]
	return item
}

func (o *ordered[T]) add(item T)       { heap.Push(o, item) }
func (o *ordered[T]) fix(index int)    { heap.Fix(o, index) }
func (o *ordered[T]) remove(index int) { heap.Remove(o, index) }
