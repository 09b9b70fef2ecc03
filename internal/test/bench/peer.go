package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A peer is rclone: it also copies between buckets and lists directories, so users may compare the
// two. It does the same work on the same servers. It has no path if no peer is measured.
type peer struct{ path, version string }

// Values of the flag -peer, besides the path of a binary.
const (
	peerBuilt = "build"
	peerNone  = "none"
)

// findPeer returns the peer that the flag -peer selects. The module in the folder rclone builds
// the newest version.
func (b *bench) findPeer(choice string) (p peer, err error) {
	switch choice {
	case peerNone:
		return p, nil
	case peerBuilt:
		p.path = filepath.Join(b.dir, "rclone")
		err = buildPeer(b.ctx, p.path)
	default:
		p.path, err = exec.LookPath(choice)
		err = cmp.Or(err, absolute(&p.path))
	}
	if err != nil {
		return peer{}, err
	}
	out, err := exec.Command(p.path, "version").Output()
	version, _, _ := strings.Cut(string(out), "\n")
	p.version = strings.TrimSpace(version)
	return p, err
}

func absolute(file *string) (err error) {
	*file, err = filepath.Abs(*file)
	return err
}

func buildPeer(ctx context.Context, file string) error {
	fmt.Fprintln(os.Stderr, "building rclone: this takes minutes the first time")
	c := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "assetferry/internal/test/bench")
	dir, err := c.Output()
	if err != nil {
		return fmt.Errorf("find the module of rclone: %w", err)
	}
	module := filepath.Join(strings.TrimSpace(string(dir)), "rclone")
	return command(ctx, module, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "github.com/rclone/rclone")
}

// fastList is the flag to list a bucket at once instead of each folder.
const fastList = "--fast-list"

// A peerRun is a run of the peer. Without a peer, it has no text, and no goal depends on it.
type peerRun struct {
	usage
	text string // for the table
}

// wall is the goal to take at most a multiple of the time of the peer.
func (p peerRun) wall(u usage, factor float64) goal {
	return p.goal(u.Wall, time.Duration(factor*float64(p.Wall)), factor, "time of rclone")
}

// cpu is the goal to take at most the processor time of the peer.
func (p peerRun) cpu(u usage) goal { return p.goal(u.CPU, p.CPU, 1, "processor time of rclone") }

func (p peerRun) goal(got, limit time.Duration, factor float64, of string) goal {
	text := "the " + of
	if factor != 1 {
		text = fmt.Sprintf("%.1f x the %s", factor, of)
	}
	if p.text == "" {
		return goal{text, noPeer}
	}
	return atMost(got, limit, text)
}

// rclone runs the peer, with a text for the table that begins with the command.
func (w *world) rclone(args ...string) (p peerRun, err error) {
	if w.peer.path == "" {
		return p, nil
	}
	lists := w.bucket.lists.Load()
	p.usage, _, err = w.runWell(w.peer.path, append(args, "--quiet", "--config", "")...)
	p.text = fmt.Sprintf("%s, %s: %s, %s CPU, %s", w.peer.version, args[0], seconds(p.Wall), seconds(p.CPU), megabytes(p.RSS))
	if n := w.bucket.lists.Load() - lists; n > 0 {
		p.text += fmt.Sprintf(", %d list requests", n)
	}
	return p, err
}

// remote returns the name of a bucket for the peer.
func remote(rawURL, bucket string) string {
	return fmt.Sprintf(":s3,provider=Other,env_auth=true,region=us-east-1,endpoint=%q,list_version=2:%s", rawURL, bucket)
}

// joinBaselines joins the baselines of a row that exist.
func joinBaselines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}
