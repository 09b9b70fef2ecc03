package ui

// Counted gives a number with its word, in the plural where that is right.
func Counted(n int64, word string) string { return Plural(n, word) }

// CountedAs is Counted for words that do not simply get an s.
func CountedAs(n int64, one, many string) string { return PluralOf(n, one, many) }
