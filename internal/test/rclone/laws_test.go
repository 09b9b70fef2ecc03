//go:build rclone

package rclone

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/rclone"
	"assetferry/sources"
	source "assetferry/sources/rclone"
	"assetferry/sources/sourcetest"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// TestSource runs the shared source tests with each rclone and storage.
func TestSource(t *testing.T) {
	for name, start := range map[string]func(testing.TB, rclone.Program) storage{
		"local": onDisk, "WebDAV": overWebDAV, "SFTP": overSFTP, "S3": overS3,
	} {
		for _, p := range programs(t) {
			t.Run(name+", "+p.Version.String(), func(t *testing.T) {
				s := start(t, newest(t))
				law(t, s, startServer(t, p, s.config))
			})
		}
	}
}

func law(t *testing.T, s storage, server *rclone.Server) {
	var count atomic.Int64
	sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
		folder := fmt.Sprintf("folder-%d", count.Add(1))
		d := &disk{root: s.dir + "/" + folder}
		must(tb, os.MkdirAll(d.root, 0o700))
		for _, f := range files {
			must(tb, d.put(f))
		}
		src, err := source.New(tb.Context(), server, s.remote(folder), source.Options{})
		must(tb, err)
		return sourcetest.Fixture{
			Source: src, Put: d.put,
			Remove:         func(k sources.Key) error { return os.Remove(d.path(k)) },
			Vanish:         func() error { return os.RemoveAll(d.root) },
			StopBackground: server.CloseIdleConnections,
		}
	}, sourcetest.Storable(s.storable), sourcetest.Many(500))
}

// TestSourceInMemory runs the shared source tests with a storage that lists whole trees.
func TestSourceInMemory(t *testing.T) {
	for _, p := range programs(t) {
		t.Run(p.Version.String(), func(t *testing.T) {
			server := startServer(t, p, "")
			var count atomic.Int64
			sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
				bucket := fmt.Sprintf("bucket-%d", count.Add(1))
				staging := &disk{root: tb.TempDir()}
				call := func(command string, in map[string]any) error {
					body, err := server.Call(tb.Context(), command, in)
					if err == nil {
						err = body.Close()
					}
					return err
				}
				put := func(f sourcetest.File) error {
					at := sources.Key("staged")
					if err := staging.put(sourcetest.File{Key: at, Content: f.Content}); err != nil {
						return err
					}
					return call("operations/copyfile", map[string]any{"srcFs": staging.root, "srcRemote": string(at), "dstFs": ":memory:" + bucket, "dstRemote": string(f.Key)})
				}
				must(tb, call("operations/mkdir", map[string]any{"fs": ":memory:" + bucket, "remote": ""}))
				for _, f := range files {
					must(tb, put(f))
				}
				src, err := source.New(tb.Context(), server, ":memory:"+bucket, source.Options{})
				must(tb, err)
				return sourcetest.Fixture{
					Source: src, Put: put,
					Remove: func(k sources.Key) error {
						return call("operations/deletefile", map[string]any{"fs": ":memory:" + bucket, "remote": string(k)})
					},
					StopBackground: server.CloseIdleConnections,
				}
			}, sourcetest.Storable(func(keys ...sources.Key) bool {
				for _, k := range keys {
					if strings.HasPrefix(string(k), "/") {
						return false
					}
				}
				return isFileName(keys...)
			}), sourcetest.Many(500))
		})
	}
}
