package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVerdict(t *testing.T) {
	second, theirs := usage{Wall: time.Second, CPU: time.Second}, peerRun{usage{Wall: 2 * time.Second, CPU: time.Second / 2}, "rclone"}
	for name, c := range map[string]struct {
		goals []goal
		must  string
		want  verdict
	}{
		"reached":              {[]goal{wallWithin(second, time.Second), countWithin(2100, 2100, "requests")}, "1s, 2,100 requests", reached},
		"too slow":             {[]goal{wallWithin(second, time.Second/2), memoryWithin(second, 90)}, "500ms, 90 MB", missed},
		"one list more":        {[]goal{countWithin(1001, 1000, "lists")}, "1,000 lists", missed},
		"a lower rate":         {[]goal{atLeast(.91, .92, "92%")}, "92%", missed},
		"ahead of rclone":      {[]goal{theirs.wall(second, 1)}, "the time of rclone", reached},
		"half of its time":     {[]goal{theirs.wall(second, .5)}, "0.5 x the time of rclone", reached},
		"less than half of it": {[]goal{theirs.wall(second, .4)}, "0.4 x the time of rclone", missed},
		"more CPU than rclone": {[]goal{theirs.cpu(second)}, "the processor time of rclone", missed},
		"no rclone":            {[]goal{peerRun{}.wall(second, .4), memoryWithin(second, 90)}, "0.4 x the time of rclone, 90 MB", noPeer},
		"no rclone, too slow":  {[]goal{peerRun{}.cpu(second), wallWithin(second, 0)}, "the processor time of rclone, 0s", missed},
	} {
		r := row{goals: c.goals}
		if r.must() != c.must || r.verdict() != c.want {
			t.Errorf("%s: got %q, %s; want %q, %s", name, r.must(), r.verdict(), c.must, c.want)
		}
	}
}

// TestPeer uses a program that exists wherever tests run, in the place of rclone.
func TestPeer(t *testing.T) {
	b := &bench{ctx: t.Context()}
	if p, err := b.findPeer(peerNone); err != nil || p.path != "" {
		t.Errorf("no peer: got %+v (%v)", p, err)
	}
	if p, err := b.findPeer("go"); err != nil || !filepath.IsAbs(p.path) || !strings.HasPrefix(p.version, "go version go") {
		t.Errorf("a peer: got %+v (%v)", p, err)
	}
	if p, err := b.findPeer(filepath.Join(t.TempDir(), "rclone")); err == nil {
		t.Errorf("a peer that does not exist: got %+v", p)
	}
	if got := joinBaselines("bare loop", "", "rclone"); got != "bare loop; rclone" {
		t.Errorf("got %q", got)
	}
}

// TestDump verifies that a dump has its size and as many old URLs as reported.
func TestDump(t *testing.T) {
	for _, apart := range []int{600, 4 * kib} {
		d := dump{library{objects: 10, folders: 1}, 100_000, apart}
		file := t.TempDir() + "/dump.sql"
		urls, err := d.write(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if found := bytes.Count(text, []byte(oldPrefix+"archive/photo-")); err != nil || found != urls || found != 100_000/apart+1 || len(text) != urls*apart {
			t.Errorf("%d bytes with %d old URLs, of which %d were reported (%v)", len(text), found, urls, err)
		}
	}
}
