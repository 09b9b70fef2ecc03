package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// A bench measures one program.
type bench struct {
	ctx     context.Context
	out     io.Writer
	dir     string
	program string
	given   bool // the program, instead of being built
	peer    peer
	scale   int
	homes   int
}

// A row is a row of the table.
type row struct {
	figure   string
	baseline string
	measured string
	goals    []goal
	took     usage // the usage of assetferry; zero for a figure of several processes
}

// A figure measures something and returns one or more rows.
type figure struct {
	name    string
	measure func(*bench) ([]row, error)
	long    bool // takes so long that only a complete measurement includes it unnamed
}

// newBench finds or builds the programs. The values of program and peer are those of the flags.
func newBench(ctx context.Context, out io.Writer, scale int, program, peer string) (*bench, error) {
	dir, err := os.MkdirTemp("", "assetferry-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, out: out, dir: dir, scale: max(1, scale), given: program != ""}
	b.program, err = b.find(program)
	if err == nil {
		b.peer, err = b.findPeer(peer)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

// find returns the path of the program, and builds it unless a path is given. The counters in that
// build take no measurable time.
func (b *bench) find(program string) (string, error) {
	if program != "" {
		return filepath.Abs(program)
	}
	built := filepath.Join(b.dir, "assetferry")
	if out, err := exec.CommandContext(b.ctx, "go", "build", "-tags", "counts", "-o", built, "assetferry/cmd/assetferry").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return built, nil
}

// all measures the figures, prints each row at once, and returns all rows.
func (b *bench) all(only *regexp.Regexp) (all []row, err error) {
	fmt.Fprintf(b.out, "%s\n\n", b.machine())
	fmt.Fprintln(b.out, "| Figure | Baseline | assetferry | Must reach | | Peak RSS |")
	fmt.Fprintln(b.out, "| --- | --- | --- | --- | --- | --- |")
	failed := 0
	for _, f := range figures {
		unnamed := f.long && only.String() == "" && b.scale > 1
		if unnamed || !only.MatchString(f.name) || b.ctx.Err() != nil {
			continue
		}
		rows, err := f.measure(b)
		if err != nil {
			failed++
			fmt.Fprintf(b.out, "| %s | | failed: %s | | | |\n", f.name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
		all = append(all, rows...)
		for _, r := range rows {
			fmt.Fprintf(b.out, "| %s | %s | %s | %s | %s | %s |\n", r.figure, r.baseline, r.measured, r.must(), r.verdict(), megabytes(r.took.RSS))
		}
	}
	if failed > 0 {
		return all, fmt.Errorf("figures not measured: %d", failed)
	}
	return all, context.Cause(b.ctx)
}

// machine describes the commit, the machine and the versions that the results depend on.
func (b *bench) machine() string {
	text := fmt.Sprintf("%s, %s, %s/%s, %d processors, %s", b.commit(), time.Now().Format("2006-01-02 15:04"), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.Version())
	if b.peer.path != "" {
		text += ", " + b.peer.version
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		text += "; load " + strings.Fields(string(load))[0]
	}
	if b.scale > 1 {
		text += fmt.Sprintf("; OBJECT COUNTS DIVIDED BY %d", b.scale)
	}
	return text
}

// commit names the commit of this checkout, and says if the checkout differs from it. The name is
// also right for a given program if it comes from here.
func (b *bench) commit() string {
	commit, err := exec.CommandContext(b.ctx, "git", "rev-parse", "--short=8", "HEAD").Output()
	if err != nil {
		return "unknown commit"
	}
	text := "commit " + strings.TrimSpace(string(commit))
	if changes, err := exec.CommandContext(b.ctx, "git", "status", "--porcelain").Output(); err != nil || len(changes) > 0 {
		text += " with changes"
	}
	return text
}

func megabytes(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

// A world is a bucket, a service, and a home for the program that copies between them.
type world struct {
	*bench
	home
	bucket    *bucket
	service   *service
	s3        string // URL
	statePath string
	run       string // the run in the state database, see knowing
	servers   []*http.Server
}

// newWorld starts servers on this machine. Call close to stop them.
func (b *bench) newWorld(l library, latency time.Duration) (*world, error) {
	b.homes++
	dir := filepath.Join(b.dir, fmt.Sprintf("home%d", b.homes))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	w := &world{bench: b, bucket: &bucket{library: l, latency: latency}, service: newService(l, latency), statePath: filepath.Join(dir, "state.db")}
	self, err := os.Executable()
	if err := cmp.Or(err, w.serve(w.bucket, &w.s3), w.serve(w.service, &w.service.url)); err != nil {
		return nil, err
	}
	w.home = home{dir, []string{"ASSETFERRY_URL=" + w.service.url, "ASSETFERRY_ENVIRONMENT_ID=" + environment, "ASSETFERRY_ACCESS_KEY=" + strings.Repeat("k", 40),
		"ASSETFERRY_STATE=" + w.statePath, "ASSETFERRY_S3_ENDPOINT=" + w.s3}, self}
	return w, nil
}

// serve starts a server and sets url to its URL.
func (w *world) serve(h http.Handler, url *string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	*url = "http://" + l.Addr().String()
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	w.servers = append(w.servers, s)
	go func() { _ = s.Serve(l) }() // until close
	return nil
}

// close stops the servers and removes the files of the program.
func (w *world) close() error {
	var failure error
	for _, s := range w.servers {
		failure = cmp.Or(failure, s.Close())
	}
	return cmp.Or(failure, os.RemoveAll(w.home.dir))
}

// source returns the arguments that name the bucket.
func (w *world) source() []string {
	return []string{"s3://" + bucketName, "--source-name", sourceName, "--quiet"}
}

// assetferry runs the program, and adds the number of its requests to the usage.
func (w *world) assetferry(command string, args ...string) (usage, []byte, error) {
	atSource, atDestination := w.bucket.lists.Load()+w.bucket.gets.Load(), w.service.requests.Load()
	u, output, err := w.runWell(w.program, append([]string{command}, args...)...)
	if u.Counts != nil {
		u.Counts["requests to the source"] = w.bucket.lists.Load() + w.bucket.gets.Load() - atSource
		u.Counts["requests to the destination"] = w.service.requests.Load() - atDestination
	}
	return u, output, err
}

// prints runs the program, whose output must contain a text, without commas between digits.
func (w *world) prints(command, text string, args ...string) (usage, error) {
	u, output, err := w.assetferry(command, args...)
	if err == nil && !bytes.Contains(bytes.ReplaceAll(output, []byte(","), nil), []byte(text)) {
		err = fmt.Errorf("%s: the output lacks %q: %s", command, text, output)
	}
	return u, err
}

// stateSize returns the size of the state database in bytes.
func (w *world) stateSize() (size int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(w.statePath + suffix); err == nil {
			size += info.Size()
		}
	}
	return size
}
