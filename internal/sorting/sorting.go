// Package sorting sorts slices of structs with one copy of the sorting algorithm in the program. The
// functions of package slices are compiled for each struct, which is faster for large slices, and adds
// 20 kB each time.
package sorting

import "sort"

// By sorts a slice. Elements that compare equal may change their order.
func By[T any](all []T, compare func(a, b T) int) {
	sort.Slice(all, func(i, j int) bool { return compare(all[i], all[j]) < 0 })
}

// Stable sorts a slice. Elements that compare equal keep their order.
func Stable[T any](all []T, compare func(a, b T) int) {
	sort.SliceStable(all, func(i, j int) bool { return compare(all[i], all[j]) < 0 })
}
