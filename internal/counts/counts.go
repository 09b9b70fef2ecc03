// Package counts tells what a process asked of its state database and of memory, so that two
// versions of the program can be compared in figures that no other process disturbs. Built
// without the tag counts, as a program that is shipped is, it counts nothing.
package counts

// Variable is the environment variable with the path of the file that [Write] makes.
const Variable = "ASSETFERRY_COUNTS"

// Counts are what a process asked for until its end.
type Counts struct {
	Statements   int64 `json:"statements"`   // of SQL, each time that one was carried out
	Prepared     int64 `json:"prepared"`     // statements that SQLite had to read
	Transactions int64 `json:"transactions"` // that were begun; not those that a statement alone is
	Allocations  int64 `json:"allocations"`  // of memory
}
