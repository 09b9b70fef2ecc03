// Package usertest runs tests as a user who may not do everything: root reads and writes
// whatever files forbid.
package usertest
