//go:build rclone

package rclone

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"assetferry/internal/rclone"
	"assetferry/sources"
	source "assetferry/sources/rclone"
)

// TestKilledDuringListing kills rclone three times in the middle of a listing, which must be complete
// nevertheless, and once in the middle of a read.
func TestKilledDuringListing(t *testing.T) {
	for _, p := range programs(t) {
		t.Run(p.Version.String(), func(t *testing.T) { killedDuringListing(t, p) })
	}
}

func killedDuringListing(t *testing.T, p rclone.Program) {
	const folders, files = 200, 20
	s := onDisk(t, p)
	dir := s.dir + "/library"
	for n := range folders {
		must(t, os.MkdirAll(fmt.Sprintf("%s/%03d", dir, n), 0o700))
		for i := range files {
			must(t, os.WriteFile(fmt.Sprintf("%s/%03d/%02d", dir, n, i), nil, 0o600))
		}
	}
	large := strings.Repeat("content ", 4<<20)
	must(t, os.WriteFile(dir+"/zzz", []byte(large), 0o600))
	server := startServer(t, p, s.config)
	src, err := source.New(t.Context(), server, s.remote("library"), source.Options{Ahead: 2})
	must(t, err)
	var last sources.Object
	count := 0
	for o, err := range src.Objects(t.Context(), "") {
		must(t, err)
		if o.Key <= last.Key || o.Obstacle != "" {
			t.Fatalf("%q (%s) comes after %q", o.Key, o.Obstacle, last.Key)
		}
		last = o
		if count++; count%1500 == 0 {
			kill(t, server)
		}
	}
	if count != folders*files+1 {
		t.Errorf("listed %d objects, want %d", count, folders*files+1)
	}
	r, err := src.Open(t.Context(), last, 0)
	must(t, err)
	defer r.Close()
	start := make([]byte, 1000)
	_, err = io.ReadFull(r, start)
	must(t, err)
	kill(t, server)
	rest, err := io.ReadAll(r)
	if got := string(start) + string(rest); err != nil || got != large {
		t.Errorf("read %d bytes, want %d: %v", len(got), len(large), err)
	}
}
