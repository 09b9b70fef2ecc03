//go:build strace

package cli

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// seesCalls reports whether the test sees files that a process deletes before its end.
const seesCalls = true

// systemCalls are the file and network operations of a process and its children.
type systemCalls struct {
	dir                  string
	connects             []string // host:port
	writes, reads, other []string // paths; other has the connections without TCP
}

// watchCalls runs a process under strace. After the process has ended, the returned function reads
// the trace.
func watchCalls(t *testing.T, p *process, dir string) func() systemCalls {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "trace")
	p.Args = append([]string{"strace", "-f", "-qq", "-y", "-s", "4096", "-o", record, "-e", "trace=network,file", p.Path}, p.Args[1:]...)
	p.Path = strace
	return func() systemCalls { return readTrace(t, record, dir) }
}

var (
	connecting = regexp.MustCompile(`\b(?:connect|sendto|sendmsg)\(.*sa_family=(AF_\w+)(.*)`)
	inet       = regexp.MustCompile(`port=htons\((\d+)\).*(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"`)
	socket     = regexp.MustCompile(`^AF_UNIX, sun_path="([^"]+)"`)
	opening    = regexp.MustCompile(`\bopen(?:at2?)?\((?:(AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"([^"]*)", (?:\{flags=)?([A-Z_|0-9]+)`)
	naming     = regexp.MustCompile(`\b(?:unlink|mkdir|rmdir|rename|link|symlink|chmod|fchmod|chown|lchown|fchown|mknod|truncate|utimens)(?:at2?)?\((.*)`)
	pathname   = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"([^"]*)"`)
)

func readTrace(t *testing.T, record, dir string) (seen systemCalls) {
	t.Helper()
	f, err := os.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen.dir = dir
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if found := connecting.FindStringSubmatch(line); found != nil {
			seen.noteConnection(found[1], found[2])
		}
		if found := opening.FindStringSubmatch(line); found != nil {
			seen.noteOpening(found[2], found[3], found[4])
		}
		if found := naming.FindStringSubmatch(line); found != nil && !strings.Contains(line, "ENOENT") {
			for _, p := range pathname.FindAllStringSubmatch(found[1], -1) {
				seen.writes = append(seen.writes, seen.absolute(p[1], p[2]))
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(seen.reads) == 0 {
		t.Fatal("strace saw no file")
	}
	return seen
}

func (s *systemCalls) noteConnection(family, rest string) {
	if found := inet.FindStringSubmatch(rest); found != nil {
		s.connects = append(s.connects, net.JoinHostPort(found[2], found[1]))
	} else {
		s.other = append(s.other, family+rest)
	}
}

func (s *systemCalls) noteOpening(at, name, flags string) {
	name = s.absolute(at, name)
	if regexp.MustCompile(`O_(WRONLY|RDWR|CREAT)`).MatchString(flags) {
		s.writes = append(s.writes, name)
	} else {
		s.reads = append(s.reads, name)
	}
}

func (s *systemCalls) absolute(at, name string) string {
	switch {
	case filepath.IsAbs(name):
	case at != "":
		name = filepath.Join(at, name)
	default:
		name = filepath.Join(s.dir, name)
	}
	return name
}

// systemFiles matches files of the system that a program reads: its own files, kernel settings,
// host names, certificates and time zones.
var systemFiles = regexp.MustCompile(`^(/proc/|/sys/|/dev/(null|urandom)$|/lib|/usr/lib|/usr/share/zoneinfo|/etc/(ld\.so\.(cache|preload)|localtime|resolv\.conf|hosts|nsswitch\.conf|passwd|ssl/.*|pki/.*)$|/usr/local/share/zoneinfo)`)

var unitFiles = regexp.MustCompile(`/assetferry-[^/]+\.(service|timer)$`)

// compare verifies that a command made only permitted system calls.
func (s systemCalls) compare(t *testing.T, c traced, proxy string, used map[string]bool) {
	t.Helper()
	for _, to := range s.connects {
		if host, _, _ := net.SplitHostPort(to); to != proxy && (!c.local || host != "127.0.0.1") {
			t.Errorf("%s connects to %s", c.args, to)
		}
	}
	for _, what := range s.other {
		if strings.Contains(what, `"/var/run/nscd/socket"`) { // libc looks up accounts there, in a build with cgo
			continue
		}
		if found := socket.FindStringSubmatch(what); found != nil {
			below, err := filepath.Rel(s.dir, found[1])
			if fleet := kindOfFile(filepath.ToSlash(below), fleeting()); err == nil && fleet == "socket" {
				used[fleet] = true
				continue
			}
		}
		t.Errorf("%s connects to %s", c.args, what)
	}
	for _, name := range s.writes {
		below, err := filepath.Rel(s.dir, name)
		if name == os.DevNull || err == nil && below == "." {
			continue
		}
		kind := kindOfFile(filepath.ToSlash(below), written())
		fleet := kindOfFile(filepath.ToSlash(below), fleeting())
		if err != nil || !filepath.IsLocal(below) || !c.mayWrite(kind) && fleet == "" {
			t.Errorf("%s writes %s, of the kind %q", c.args, name, kind)
		}
		used[fleet] = true
	}
	var odd []string
	for _, name := range s.reads {
		below, err := filepath.Rel(s.dir, name)
		known := err == nil && filepath.IsLocal(below) || systemFiles.MatchString(name)
		if unitFiles.MatchString(name) { // only if it may be replaced
			known = strings.HasPrefix(c.args, "schedule ") && strings.HasPrefix(name, "/etc/systemd/system/")
		}
		if !known {
			odd = append(odd, name)
		}
	}
	slices.Sort(odd)
	for _, name := range slices.Compact(odd) {
		t.Errorf("%s reads %s", c.args, name)
	}
}
