// Package counts counts the statements and transactions in the state database and the memory
// allocations of a process. Two versions of the program can be compared by these numbers, which
// other processes do not influence. Without the build tag counts, as in releases, it counts
// nothing.
package counts

// Variable is the environment variable with the path of the file that [Write] writes.
const Variable = "ASSETFERRY_COUNTS"

// Counts are the counters of a process from its start.
type Counts struct {
	Statements   int64 `json:"statements"`   // of SQL, each time that one was carried out
	Prepared     int64 `json:"prepared"`     // statements that SQLite had to read
	Transactions int64 `json:"transactions"` // that were begun; not those that a statement alone is
	Allocations  int64 `json:"allocations"`  // of memory
}
