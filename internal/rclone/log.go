package rclone

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"assetferry/internal/pattern"
	"assetferry/internal/redact"
)

// maxLines and maxLine limit the memory that the log takes.
const (
	maxLines = 100
	maxLine  = 2000
)

// A logTail is the stderr of rclone: its last lines without secrets. It is an io.Writer.
type logTail struct {
	redactor *redact.Redactor
	serving  chan string // receives the URL at which rclone listens

	mu    sync.Mutex
	part  []byte // an incomplete line
	lines []string
}

func newLogTail(r *redact.Redactor) *logTail {
	return &logTail{redactor: r, serving: make(chan string, 1)}
}

func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxLine - len(l.part); len(line) > room {
			line = line[:room]
		}
		l.part = append(l.part, line...)
		if ended {
			l.add(string(l.part))
			l.part = l.part[:0]
		}
		rest = after
	}
	return len(p), nil
}

var (
	servingLine = pattern.Lazy(`Serving remote control on (\S+)`)
	// logged is a line of rclone or the first line of a crash, but not a line of a stack trace.
	logged = pattern.Lazy(`^(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d |panic: |fatal error: |Error: |[Uu]nknown |rclone: |.*error while loading)`)
	// stamp precedes each line of the log.
	stamp = pattern.Lazy(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (?:\w+ ?: )?`)
)

func (l *logTail) add(line string) {
	if m := servingLine().FindStringSubmatch(line); m != nil {
		select {
		case l.serving <- m[1]:
		default: // rclone listens once
		}
		return
	}
	line = strings.TrimSpace(line)
	if !logged().MatchString(line) || strings.HasSuffix(line, "- using defaults") {
		return
	}
	if l.lines = append(l.lines, clean(l.redactor, line)); len(l.lines) > maxLines {
		l.lines = l.lines[1:]
	}
}

// last returns up to n of the last lines.
func (l *logTail) last(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines[max(0, len(l.lines)-n):]...)
}

// reason returns the last lines without times as one sentence, or "".
func (l *logTail) reason(n int) string {
	lines := l.last(n)
	for i, line := range lines {
		lines[i] = stamp().ReplaceAllString(line, "")
	}
	return strings.Join(lines, "; ")
}

// unfinishedGet is the text of rclone for an object of which it sent only a part; the reason follows.
var unfinishedGet = pattern.Lazy(`: Didn't finish writing GET request \(wrote \d+/\d+ bytes\): (.*)$`)

// unsent returns why rclone sent only a part of an object, or "".
func (l *logTail) unsent(name string) string {
	for _, line := range slices.Backward(l.last(maxLines)) {
		line = stamp().ReplaceAllString(line, "")
		if m := unfinishedGet().FindStringSubmatchIndex(line); m != nil && line[:m[0]] == name {
			return line[m[2]:m[3]]
		}
	}
	return ""
}

// secretValue is a name that looks secret and its value, in JSON, in a URL, in a header or in the
// form of a configuration.
var secretValue = pattern.Lazy(`(?i)((?:access_token|refresh_token|client_secret|password|passwd|pass|secret|token|signature|sig|api_?key|account_?key|authorization)\\?["']?\s*[:=]\s*\\?["']?(?:bearer |basic )?)([^\s"'\\&,;}]{6,})`)

// userInURL is the user and the password in a URL.
var userInURL = pattern.Lazy(`(\w+://[^\s/@:]*:)[^\s/@]+@`)

// clean removes secrets from a text of rclone: known ones, and what looks like one.
func clean(r *redact.Redactor, text string) string {
	text = r.Text(text)
	text = secretValue().ReplaceAllString(text, "${1}"+redact.Mark)
	return userInURL().ReplaceAllString(text, "${1}"+redact.Mark+"@")
}
