package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/rclone"
	"assetferry/internal/ui"
)

// usesRclone reports whether rclone reads the source.
func (d *Doctor) usesRclone() bool {
	_, is := config.RemoteOf(d.Source)
	return is && d.Settings != nil
}

// checkRclone starts rclone, and reports its version and what the storage supports.
func (d *Doctor) checkRclone(ctx context.Context) Finding {
	server, err := d.Host.Rclone(ctx)
	if err != nil {
		return d.broken(err)
	}
	p := server.Program()
	facts := []event.Fact{{Name: "program", Value: p.Path}, {Name: "version", Value: p.Version.String()}}
	text, _ := config.RemoteOf(d.Source)
	remote, err := rclone.ParseRemote(text)
	if err != nil {
		return d.broken(fmt.Errorf("source: %w", err)).with(facts...)
	}
	info, err := server.Info(ctx, remote.String())
	if err != nil {
		return d.broken(err).with(facts...)
	}
	facts = append(facts, event.Fact{Name: "checksums", Value: checksums(info)}, event.Fact{Name: "modification times", Value: times(info)}, event.Fact{Name: "memory", Value: memory(ctx, server)})
	if ignored := rclone.IgnoredFilters(os.Environ()); len(ignored) > 0 {
		return warning("use --include, --exclude and --min-age", "rclone does not get these filters: %s", strings.Join(ignored, ", ")).with(facts...)
	}
	shared, page, err := server.ClientAdvice(ctx, remote)
	switch {
	case err != nil:
		return d.broken(err).with(facts...)
	case page != "":
		return warning("create your own client ID:\n  "+page, "the remote %s uses the client ID of rclone, whose rate limit all users of rclone share", ui.Sanitize(shared)).with(facts...)
	}
	return ok("version %s runs, and the remote answers", p.Version).with(facts...)
}

// memory returns the memory of this process and of rclone.
func memory(ctx context.Context, server *rclone.Server) string {
	ours, theirs := rclone.OwnMemory().Most(), int64(0)
	if m, err := server.Memory(ctx); err == nil { // the next request reports the error
		theirs = m.Most()
	}
	return ui.Bytes(ours) + ", and " + ui.Bytes(theirs) + " of rclone"
}

func checksums(info rclone.Info) string {
	switch {
	case len(info.Hashes) == 0:
		return "none"
	case info.Features["SlowHash"]:
		return strings.Join(info.Hashes, ", ") + " (rclone reads the file, so listings omit them)"
	}
	return strings.Join(info.Hashes, ", ")
}

func times(info rclone.Info) string {
	switch {
	case !info.HasTimes():
		return "none"
	case info.Features["SlowModTime"]:
		return "one request per object, so listings omit them"
	}
	return "to " + time.Duration(info.Precision).String()
}

// checkRcloneConfiguration checks that rclone can store renewed tokens, now and after a restart of
// this machine.
func (d *Doctor) checkRcloneConfiguration(ctx context.Context) Finding {
	program, err := rclone.Find(ctx, d.Settings.Rclone, os.Environ())
	if err != nil {
		return unchecked("rclone is not usable")
	}
	path, err := rclone.ConfigFile(ctx, program, os.Environ())
	if err != nil {
		return d.broken(err)
	}
	fact := event.Fact{Name: "path", Value: path}
	err = rclone.CheckWritable(path)
	switch {
	case path == "", errors.Is(err, fs.ErrNotExist):
		return ok("there is none, so variables or SOURCE define the remote").with(fact)
	case err != nil && d.hasNoTokens(ctx):
		return ok("the remote has no token that rclone renews, so it need not be writable").with(fact)
	case err != nil:
		hint, _ := d.Host.Explain(err)
		return warning(hint, "rclone cannot store renewed tokens: %v", err).with(fact)
	case !lasts(path):
		return warning("move it to a folder that is kept, and set RCLONE_CONFIG", "a restart of this machine deletes %s, and the renewed tokens in it", path).with(fact)
	}
	return ok("rclone can store renewed tokens in it").with(fact)
}

// hasNoTokens reports whether it is certain that rclone renews no token of the remote.
func (d *Doctor) hasNoTokens(ctx context.Context) bool {
	text, _ := config.RemoteOf(d.Source)
	remote, err := rclone.ParseRemote(text)
	if err != nil {
		return false
	}
	server, err := d.Host.Rclone(ctx)
	if err != nil {
		return false
	}
	renews, err := server.RenewsTokens(ctx, remote)
	return err == nil && !renews
}

// lasts reports whether a file is outside the folders that a start of the system empties.
func lasts(path string) bool {
	for _, dir := range []string{os.TempDir(), "/tmp", "/run", "/var/run", "/dev/shm"} {
		if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
			return false
		}
	}
	return true
}
