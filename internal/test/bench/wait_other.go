//go:build !linux

package main

import "time"

// sleepUntil waits until a time.
func sleepUntil(t time.Time) { time.Sleep(time.Until(t)) }
