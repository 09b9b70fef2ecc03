package metrics

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrForeign means that a file has other content.
var ErrForeign = errors.New("the file exists and contains no metrics of assetferry")

// Check returns an error if the file cannot be written: it has other content, or its folder does not
// exist.
func Check(path string) error {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info, err := os.Stat(filepath.Dir(path))
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", filepath.Dir(path))
		}
		return err
	case err != nil:
		return err
	case len(data) > 0 && !bytes.HasPrefix(data, []byte("# HELP assetferry_")):
		return fmt.Errorf("%s: %w", path, ErrForeign)
	}
	return nil
}

// Write replaces the file atomically, so that the exporter never reads a part of it.
func Write(path string, r Run) (err error) {
	// The exporter reads all files that end in ".prom".
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text())
	draft, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.Remove(name); !errors.Is(rerr, fs.ErrNotExist) { // renamed
			err = errors.Join(err, rerr)
		}
	}()
	_, err = draft.Write(r.encode())
	if err == nil {
		err = draft.Chmod(0o644) // despite the umask: the exporter runs as another user
	}
	if err == nil {
		err = draft.Sync()
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	return os.Rename(name, path)
}

// Former reads the labels and the time of the last success from the file of the previous run. Both
// are zero if they are not in the file.
func Former(path string) (l Labels, success time.Time) {
	f, err := os.Open(path)
	if err != nil {
		return l, success
	}
	defer f.Close()
	const most = 1 << 20 // files of assetferry have a few KiB
	for lines := bufio.NewScanner(io.LimitReader(f, most)); lines.Scan(); {
		name, sample, _ := strings.Cut(lines.Text(), "{")
		labels, value, ok := parse(sample)
		switch {
		case !ok:
		case name == exitCode:
			l = labels
		case name == lastSuccess && labels == l:
			success = time.UnixMilli(int64(math.Round(value * 1000))).UTC()
		}
	}
	return l, success
}

// parse parses a sample that String and number wrote.
func parse(sample string) (l Labels, value float64, ok bool) {
	for _, label := range []struct {
		name  string
		value *string
	}{{"job_name", &l.Job}, {"source", &l.Source}, {"destination", &l.Destination}} {
		rest, is := strings.CutPrefix(strings.TrimPrefix(sample, ","), label.name+"=")
		if !is {
			return l, 0, false
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return l, 0, false
		}
		if *label.value, err = strconv.Unquote(quoted); err != nil {
			return l, 0, false
		}
		sample = rest[len(quoted):]
	}
	text, is := strings.CutPrefix(sample, "} ")
	value, err := strconv.ParseFloat(text, 64)
	return l, value, is && err == nil
}
