// Package clock tells the time wherever the calendar matters: what is written into
// the journal and into tokens, how old something is, when the day's window ends. A
// test can have a whole process live on another day by it, and nights pass in seconds.
// In a build as it is shipped it is the clock of the system; see [Now]. What takes a
// while within a process is measured without it.
package clock

// Variable is the environment variable that moves the clock of a process built with
// the tag testclock: by a duration such as +34h30m, or to an instant in the form of
// RFC 3339 at which the process begins.
const Variable = "ASSETFERRY_TEST_CLOCK"
