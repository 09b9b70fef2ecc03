//go:build rclone

package rclone

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assetferry/internal/rclone"
)

// programs returns every rclone to test: that in PATH, and those in ASSETFERRY_TEST_RCLONE.
func programs(t *testing.T) []rclone.Program {
	t.Helper()
	var found []rclone.Program
	for _, path := range append([]string{"rclone"}, filepath.SplitList(os.Getenv("ASSETFERRY_TEST_RCLONE"))...) {
		p, err := rclone.Find(t.Context(), path, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
	return found
}

// forEach runs a test with every rclone, below a home and a runtime folder of its own.
func forEach(t *testing.T, test func(t *testing.T, p rclone.Program, environ []string)) {
	for _, p := range programs(t) {
		t.Run(p.Version.String(), func(t *testing.T) {
			test(t, p, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "XDG_RUNTIME_DIR=" + runtimeDir(t)})
		})
	}
}

// runtimeDir returns a folder with a path that is short enough for sockets.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, p rclone.Program, environ []string) *rclone.Server {
	t.Helper()
	s, err := rclone.Start(t.Context(), p, rclone.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func kill(t *testing.T, s *rclone.Server) {
	t.Helper()
	pid, err := s.PID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestReadsAndLists(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, environ []string) {
		dir := filepath.Join(t.TempDir(), "with ] and ?#%")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a]%?#b.txt"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, p, environ)
		res, err := s.Get(t.Context(), dir, "a]%?#b.txt", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil || string(got) != "content" {
			t.Errorf("read %q, %v", got, err)
		}
		_ = res.Body.Close()
		info, err := s.Info(t.Context(), dir)
		if err != nil || !info.Features["IsLocal"] || !info.HasTimes() || len(info.Hashes) == 0 {
			t.Errorf("info %+v, %v", info, err)
		}
		if _, err := s.Get(t.Context(), dir, "missing", nil); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("missing object: %v", err)
		}
		if _, err := s.Call(t.Context(), "operations/list", map[string]string{"fs": dir, "remote": "missing"}); !errors.Is(err, rclone.ErrDirectoryNotFound) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("missing folder: %v", err)
		}
		if _, err := s.Info(t.Context(), "missing:"); !errors.Is(err, rclone.ErrUnknownRemote) {
			t.Errorf("missing remote: %v", err)
		}
		m, err := s.Memory(t.Context())
		if err != nil || m.Heap == 0 || m.Resident == 0 || m.Peak < m.Resident {
			t.Errorf("memory %+v, %v", m, err)
		}
	})
}

// TestRestarts kills rclone while an object is read. The read fails, and the next call starts rclone
// again, three times.
func TestRestarts(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, environ []string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, 64<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, p, environ)
		for range 4 {
			res, err := s.Get(t.Context(), dir, "large", nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(res.Body, make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			kill(t, s)
			_, err = io.Copy(io.Discard, res.Body)
			if _, ok := errors.AsType[*rclone.InterruptedError](err); !ok {
				t.Errorf("read of a killed rclone: %v", err)
			}
			_ = res.Body.Close()
		}
		_, err := s.Remotes(t.Context())
		if !errors.Is(err, rclone.ErrTooManyCrashes) || !strings.Contains(err.Error(), "4 times") {
			t.Errorf("after four kills: %v", err)
		}
		t.Log(err)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := s.Remotes(context.Background()); !errors.Is(err, rclone.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}
