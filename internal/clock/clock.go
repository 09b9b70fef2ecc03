// Package clock returns the time for everything that depends on the date: times in the state
// database and in tokens, ages, and the end of the daily time window. A test can run a whole
// process on another date, so that days pass in seconds. A release build uses the system clock; see
// [Now]. Durations within a process do not use this package.
package clock

// Variable is the environment variable that sets the clock of a process built with the tag
// testclock. Its value is an offset such as +34h30m, or the time in RFC 3339 format at which the
// process starts.
const Variable = "ASSETFERRY_TEST_CLOCK"
