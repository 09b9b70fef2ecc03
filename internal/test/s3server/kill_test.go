package s3server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/test/seedtest"
)

const objectsVariable = "ASSETFERRY_S3SERVER_OBJECTS"

// objectCount returns the number of objects that the program uploads.
func objectCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv(objectsVariable)
	if text == "" {
		return 2000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 200 {
		t.Fatalf("%s is %q, want a number of 200 or more", objectsVariable, text)
	}
	return n
}

// TestKill makes the built program upload objects from the S3 server to a sandbox, kills it five
// times at random moments, and resumes it each time. It kills the sandbox after the program, so
// that an upload in progress either exists when the program resumes or never will, and does not
// appear after the confirmation timeout. Then it compares the server's own files with the answers
// of the sandbox.
func TestKill(t *testing.T) {
	const kills = 5
	n, dice := objectCount(t), seedtest.Rand(t)
	t.Logf("%d objects", n)
	b := newBucket(t)
	began := time.Now()
	size := b.fill(t, n, dice)
	t.Logf("filled the bucket with %d bytes in %v", size, time.Since(began).Round(time.Millisecond))
	p := build(t)
	s, stop := p.sandbox(t)
	args := []string{"migrate", "s3://" + b.name, "--endpoint", gateway.url, "--unsupported", "create", "--json", "--confirm-timeout", "1s"}

	began = time.Now()
	for kill := range kills {
		after := 1 + dice.IntN(n/(kills+2))
		start := time.Now()
		done, code := p.run(t, s, after, args...)
		t.Logf("kill %d after %d outcomes of this process, %v after its start", kill+1, done, time.Since(start).Round(time.Millisecond))
		if runtime.GOOS != "windows" && code != -1 {
			t.Fatalf("exit code %d before kill %d", code, kill+1)
		}
		stop()
		s, stop = p.sandbox(t)
	}
	done, code := p.run(t, s, 0, args...)
	t.Logf("the last process brought %d and ended with %d; %v for all of them", done, code, time.Since(began).Round(time.Millisecond))
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	began = time.Now()
	c := b.compare(t, s)
	t.Logf("read everything back in %v: %d equal, %d missing, %d doubled, %d changed, %d foreign, %d folders twice",
		time.Since(began).Round(time.Millisecond), c.equal, c.missing, c.doubled, c.changed, c.foreign, c.folders)
	if c.equal != n || c.missing+c.doubled+c.changed+c.foreign+c.folders > 0 {
		t.Errorf("the destination differs: %+v", c)
	}
	if done, code := p.run(t, s, 0, args...); done != 0 || code != 0 {
		t.Errorf("another run brought %d and ended with %d", done, code)
	}
}

// fill stores n objects of up to 8 KiB, and a few of more than a megabyte, and returns their total
// size in bytes.
func (b *bucket) fill(t *testing.T, n int, dice *rand.Rand) (size int64) {
	t.Helper()
	type object struct {
		key     string
		content []byte
	}
	work := make(chan object)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for o := range work {
				if err := b.put(context.WithoutCancel(t.Context()), o.key, o.content); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		folder := [...]string{"", "a/", "a/b/", "a/b/c c/", "ü/", "a+b%20/"}[i%6]
		key := fmt.Sprintf("%sobject %06d & more.%s", folder, i, [...]string{"txt", "pdf", "bin"}[i%3])
		length := dice.IntN(8 << 10)
		if i%500 == 499 {
			length += 1 << 20
		}
		content := append([]byte(key+"\n"), make([]byte, length)...)
		for j := len(key) + 1; j < len(content); j += 7 {
			content[j] = byte(dice.Uint32())
		}
		size += int64(len(content))
		work <- object{key, content}
	}
	close(work)
	writers.Wait()
	return size
}

// A program is the built one, with its own home directory.
type program struct{ path, home string }

func build(t *testing.T) program {
	t.Helper()
	p := program{filepath.Join(t.TempDir(), "assetferry"), t.TempDir()}
	c := exec.Command("go", "build", "-o", p.path, "./cmd/assetferry")
	c.Dir = gateway.repo
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return p
}

// command prepares a call with only the given environment.
func (p program) command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), p.path, args...)
	c.Dir = p.home
	c.Env = append([]string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, env...)
	return c
}

// sandbox runs the sandbox in a process of its own until stop, or until the test ends. Each time it
// has another URL, and the same data.
func (p program) sandbox(t *testing.T) (s service, stop func()) {
	t.Helper()
	c := p.command(t, nil, "sandbox", "--data", "sandbox")
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	stop = sync.OnceFunc(func() { _ = c.Process.Kill(); _ = c.Wait() })
	t.Cleanup(stop)
	text, err := io.ReadAll(out) // it closes stdout once it listens
	must(t, err)
	value := func(name string) string {
		_, rest, ok := strings.Cut(string(text), name+"=")
		line, _, _ := strings.Cut(rest, "\n")
		if !ok {
			t.Fatalf("the sandbox does not say %s: %s", name, text)
		}
		return strings.Trim(line, `'"`)
	}
	return service{value("ASSETFERRY_URL"), value("ASSETFERRY_ENVIRONMENT_ID"), value("ASSETFERRY_ACCESS_KEY")}, stop
}

// run runs a migration, and kills it after killAfter outcomes unless that is 0. It returns the
// number of outcomes and the exit code.
func (p program) run(t *testing.T, s service, killAfter int, args ...string) (done, code int) {
	t.Helper()
	c := p.command(t, []string{
		"ASSETFERRY_URL=" + s.url, "ASSETFERRY_ENVIRONMENT_ID=" + s.environment, "ASSETFERRY_ACCESS_KEY=" + s.key,
		"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey,
	}, args...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Type, State string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		if line.Type != "item" || line.State != "done" {
			continue
		}
		if done++; done == killAfter {
			must(t, c.Process.Kill())
		}
	}
	err = c.Wait()
	if code = c.ProcessState.ExitCode(); code > 0 {
		t.Logf("%v: %s", err, said.String())
	}
	return done, code
}
