//go:build clamd

// Package clamd has objects scanned by a real clamd, with a signature of its own, since the databases
// of ClamAV are large and need its network. It verifies both forms of the setting, and that no
// infected object is sent although clamd and assetferry are killed in the middle.
//
//	go test -tags clamd ./internal/test/clamd
package clamd

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/scan"
	"assetferry/internal/test/built"
	"assetferry/internal/test/processtest"
)

// marker is the content that the signature finds. It is harmless.
const marker = "assetferry marker of an infected object"

const maxStream = 5 << 20

// A daemon is a clamd in a folder of its own.
type daemon struct {
	*testing.T
	dir, socket, port string
	cmd               *exec.Cmd
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{T: t, dir: t.TempDir(), port: processtest.FreePort(t)}
	d.socket = filepath.Join(d.dir, "clamd.ctl")
	d.write("db/local.ndb", "Local.Marker:0:*:"+hex.EncodeToString([]byte(marker))+"\n")
	d.write("clamd.conf", fmt.Sprintf("Foreground yes\nLocalSocket %s\nTCPAddr 127.0.0.1\nTCPSocket %s\nDatabaseDirectory %s\nStreamMaxLength %d\n",
		d.socket, d.port, filepath.Join(d.dir, "db"), maxStream))
	t.Cleanup(d.kill)
	d.start()
	return d
}

func (d *daemon) write(name, content string) {
	d.Helper()
	path := filepath.Join(d.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		d.Fatal(err)
	}
}

// program returns the path of a daemon, which is in a folder of administrators.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

// start starts clamd and waits until it answers.
func (d *daemon) start() {
	d.Helper()
	d.cmd = exec.Command(program("clamd"), "-c", filepath.Join(d.dir, "clamd.conf"))
	var log bytes.Buffer
	d.cmd.Stdout, d.cmd.Stderr = &log, &log
	if err := d.cmd.Start(); err != nil {
		d.Fatal(err)
	}
	for range 300 {
		if d.scanner("clamd:"+d.socket).Check(d.Context()) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	d.kill()
	d.Fatalf("clamd does not answer:\n%s", log.String())
}

func (d *daemon) kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

func (d *daemon) scanner(setting string) *scan.Scanner {
	d.Helper()
	s, err := scan.New(setting, 20*time.Second)
	if err != nil {
		d.Fatal(err)
	}
	return s
}

// settings are all forms of the setting for this clamd.
func (d *daemon) settings() []string {
	return []string{"clamd:" + d.socket, "clamd:127.0.0.1:" + d.port, "clamdscan -c " + filepath.Join(d.dir, "clamd.conf") + " --no-summary -"}
}

func TestAnswers(t *testing.T) {
	d := newDaemon(t)
	filler := strings.Repeat("0123456789", 1<<18)
	for _, setting := range d.settings() {
		for _, tt := range []struct{ name, content, want string }{
			{"empty", "", ""},
			{"clean", "clean", ""},
			{"infected", marker, "refused by the scan: Local.Marker.UNOFFICIAL"},
			{"infected at the end", filler + marker, "refused by the scan: Local.Marker.UNOFFICIAL"},
			{"infected across chunks", filler[:64<<10-7] + marker + filler, "refused by the scan: Local.Marker.UNOFFICIAL"},
			{"clean and large", filler, ""},
			{"as large as allowed", strings.Repeat("x", maxStream), ""},
			{"too large", strings.Repeat("x", 4*maxStream), "INSTREAM size limit exceeded. ERROR (raise StreamMaxLength"},
		} {
			if tt.name == "too large" && !strings.HasPrefix(setting, "clamd:") {
				continue // clamdscan hands clamd the file itself, for which other limits count
			}
			err := d.scanner(setting).Scan(t.Context(), scan.Object{Key: tt.name, Size: int64(len(tt.content))}, strings.NewReader(tt.content))
			if tt.want == "" && err != nil || tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%s, %s: got %v, want %q", setting, tt.name, err, tt.want)
			}
		}
	}
	d.kill()
	for _, setting := range d.settings() {
		err := d.scanner(setting).Check(t.Context())
		if _, failed := errors.AsType[*scan.Error](err); !failed {
			t.Errorf("%s without clamd: got %v", setting, err)
		}
	}
}

// TestMigration kills clamd and then assetferry in the middle of a migration, and verifies that in the
// end the service has all clean objects once and none of the infected ones.
func TestMigration(t *testing.T) {
	d := newDaemon(t)
	const objects, every = 1500, 10
	filler := strings.Repeat("0123456789", 500)
	for n := range objects {
		content := fmt.Sprint(n, filler)
		if n%every == 0 {
			content += marker
		}
		d.write(fmt.Sprintf("src/%02d/%04d.jpg", n%20, n), content)
	}
	ferry := built.Program(t, filepath.Join(d.dir, "bin"))
	env := []string{"HOME=" + d.dir, "PATH=" + os.Getenv("PATH")}
	for name, value := range built.Sandbox(t, ferry, env) {
		env = append(env, name+"="+value)
	}
	command := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
		c := exec.Command(ferry, args...)
		c.Dir, c.Env = d.dir, env
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		return c, &out
	}
	migrate := []string{"migrate", "src", "--scan-command", "clamd:" + d.socket, "--confirm-timeout", "1s", "--wait", "1s"}
	interrupted := 0
	for n := range 6 { // clamd, assetferry, clamd, ...
		c, _ := command(migrate...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(300+150*n) * time.Millisecond)
		if n%2 == 0 {
			d.kill()
			_ = os.Remove(d.socket)
		} else {
			_ = c.Process.Signal(syscall.SIGKILL)
		}
		if c.Wait() != nil {
			interrupted++
		}
		if n%2 == 0 {
			d.start()
		}
	}
	t.Logf("%d of 6 runs were interrupted", interrupted)
	c, out := command(append(migrate, "--retry-exhausted", "--json")...)
	err := c.Run()
	for range 10 { // failures and unconfirmed uploads of the killed processes
		c, out = command(append(migrate, "--wait", "2m", "--json")...)
		err = c.Run()
		if !strings.Contains(out.String(), `"retry_scheduled":`) && !strings.Contains(out.String(), `"unconfirmed":`) {
			break
		}
	}
	c, out = command(append(migrate, "--json")...)
	err = c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Fatalf("got %v, want exit code 3\n%s", err, out)
	}
	if n := strings.Count(out.String(), `"reason":"scan_refused"`); n != objects/every {
		t.Errorf("%d refused objects are listed, want %d\n%.3000s", n, objects/every, out)
	}
	c, out = command("export", "back", "--json")
	if err := c.Run(); err != nil {
		t.Fatalf("export: %v\n%s", err, out)
	}
	files := 0
	err = filepath.WalkDir(filepath.Join(d.dir, "back"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".jpg") {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), marker) {
			t.Errorf("%s is infected", path)
		}
		return err
	})
	if err != nil || files != objects-objects/every {
		t.Errorf("the service has %d files (%v), want %d", files, err, objects-objects/every)
	}
}
