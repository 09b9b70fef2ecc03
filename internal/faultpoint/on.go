//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A death is where a process is to end.
type death struct {
	point Point
	left  atomic.Int64 // hits of the point until then
}

// planned returns the point that the environment names, or nil.
var planned = sync.OnceValue(func() *death {
	text := os.Getenv(Variable)
	if text == "" {
		return nil
	}
	name, count, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 || !slices.Contains(All(), Point(name)) {
		panic(fmt.Sprintf("%s=%q: want a point and the number of a hit, such as %s:1", Variable, text, Sent))
	}
	d := &death{point: Point(name)}
	d.left.Store(n)
	return d
})

// Hit ends the process like a kill if [Variable] names the point.
func Hit(p Point) {
	if d := planned(); d != nil && d.point == p && d.left.Add(-1) == 0 {
		fmt.Fprintln(os.Stderr, KilledMessage, p)
		die()
	}
}

// die ends the process without anything being tidied up.
func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the signal is here
}
