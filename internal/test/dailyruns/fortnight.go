// Package dailyruns is a test only: it runs the real binary daily for two weeks against a sandbox
// with persistent data, with a day between two runs. Before each run a script and random choices
// change the source and the destination. After the run the sandbox's lists, the report of the run
// and a model must agree on every item. The model knows what a sync promises, and shares no code
// with the engine.
//
// The binary is built with the tags testclock and faultpoints, so that the test can move its clock
// and end the process at a chosen point.
package dailyruns
