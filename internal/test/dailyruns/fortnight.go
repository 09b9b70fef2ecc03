// Package fortnight is a test only: two weeks of nightly runs of the real binary against
// a sandbox that keeps what it has, with a day between one night and the next. Each night
// a script and some dice change the source and the destination, and after it three things
// must agree to the item: what the sandbox lists, what the report of the run says, and a
// model that knows what a sync promises and none of the code that keeps the promise.
//
// The binary is built with the tags testclock and faultpoints, so that time passes and
// the process dies when the script says so.
package dailyruns
