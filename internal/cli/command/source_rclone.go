package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/rclone"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	remotes "assetferry/sources/rclone"
)

const (
	rcloneScheme = "rclone:"
	rcloneHint   = "write rclone:REMOTE:path; rclone listremotes prints the remotes (see assetferry help rclone)"
	secretHint   = "put the storage into the configuration of rclone, and name it as rclone:REMOTE:path:\n  rclone config"
)

// IsRclone reports whether rclone reads a source.
func IsRclone(source string) bool {
	_, is := config.RemoteOf(source)
	return is
}

func rcloneName(source string) (string, error) {
	text, _ := config.RemoteOf(source)
	r, err := rclone.ParseRemote(text)
	if err != nil {
		return "", err
	}
	return rcloneScheme + r.String(), nil
}

// remoteOf returns the remote of a source, and the rclone of this command.
func (f *Factory) remoteOf(ctx context.Context, source string) (rclone.Remote, *rclone.Server, error) {
	text, _ := config.RemoteOf(source)
	r, err := rclone.ParseRemote(text)
	switch {
	case errors.Is(err, rclone.ErrSecretParameter):
		return r, nil, badURL(err, secretHint)
	case err != nil:
		return r, nil, badURL(err, rcloneHint)
	}
	server, err := f.Rclone(ctx)
	return r, server, unopened(ctx, r, err)
}

// unopened adds the source to the error of a remote that cannot be opened.
func unopened(ctx context.Context, r rclone.Remote, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &sources.Error{Op: "open", Source: rcloneScheme + r.String(), Err: err, Hint: exit.HintOf(err)}
}

// ConfiguredRemote returns the cleaned name of a source, whose remote must be in the configuration of
// rclone. It sends no request to the storage.
func (f *Factory) ConfiguredRemote(ctx context.Context, source string) (string, error) {
	r, server, err := f.remoteOf(ctx, source)
	if err != nil {
		return "", err
	}
	return rcloneScheme + r.String(), unopened(ctx, r, server.CheckNames(ctx, r))
}

// openRclone opens a remote of rclone as a source.
func (f *Factory) openRclone(ctx context.Context, source string) (sources.Source, string, error) {
	r, server, err := f.remoteOf(ctx, source)
	if err != nil {
		return nil, "", err
	}
	if problem, ok := errors.AsType[*rclone.ConfigError](server.CheckTokens(ctx, r)); ok {
		f.Out.Log().Warn("rclone cannot store renewed tokens, so a later run may be refused: " + problem.Error() + "; " + problem.Hint())
	}
	f.remote.Store(&r)
	behind, err := server.Behind(ctx, r)
	if err != nil {
		return nil, "", &sources.Error{Op: "open", Source: rcloneScheme + r.String(), Err: err, Hint: exit.HintOf(err)}
	}
	s, err := remotes.New(ctx, server, r.String(), remotes.Options{
		FollowLinks: f.Settings.Symlinks == "follow", Concurrency: migrate.Workers(f.Settings.Concurrency),
		Upstreams: behind.Upstreams, Encrypted: behind.Encrypted, Names: behind.Names,
	})
	if err != nil {
		return nil, "", err
	}
	return s, s.Identity(), nil
}

// Rclone returns the rclone of this command, which it starts if needed.
func (f *Factory) Rclone(ctx context.Context) (*rclone.Server, error) {
	if f.rclone != nil {
		return f.rclone, nil
	}
	environ := os.Environ()
	program, err := rclone.Find(ctx, f.Settings.Rclone, environ)
	if err != nil {
		return nil, err
	}
	if ignored := rclone.IgnoredFilters(environ); len(ignored) > 0 {
		f.Out.Log().Warn("filters of rclone are ignored: " + strings.Join(ignored, ", ") + "; use --include, --exclude and --min-age")
	}
	s, err := rclone.Start(ctx, program, rclone.Options{
		Environ: environ, Redactor: f.Redactor, Connections: migrate.Workers(f.Settings.Concurrency),
		Throttled: f.noteOnce(ctx, "The storage limits requests. They are repeated with pauses."),
		Slow:      f.noteOnce(ctx, fmt.Sprintf("rclone has not responded for %s. The storage is slow or limits requests, which rclone repeats with pauses.", ui.Duration(rclone.SlowAfter))),
	})
	if err != nil {
		return nil, err
	}
	f.rclone = s
	f.CloseLater(s.Close)
	return s, nil
}

// noteOnce returns a function that reports once why listings and reads wait.
func (f *Factory) noteOnce(ctx context.Context, why string) func() {
	return sync.OnceFunc(func() {
		f.Out.Notef("%s", why)
		f.AdviseClient(ctx)
	})
}

// AdviseClient reports, once in a command, that the remote of the source uses the client ID that all
// users of rclone share.
func (f *Factory) AdviseClient(ctx context.Context) {
	r := f.remote.Load()
	if r == nil {
		return
	}
	if remote, page, err := f.rclone.ClientAdvice(ctx, *r); err == nil && page != "" { // without the configuration there is no advice
		f.Out.Notef("The remote %s uses the client ID of rclone, whose rate limit all users of rclone share. Create your own:\n  %s", ui.Sanitize(remote), page)
	}
}

// memoryTimeout limits the request for the memory of rclone at the end of a command.
const memoryTimeout = 2 * time.Second

// NoteMemory reports with --verbose how much memory this process and rclone took.
func (f *Factory) NoteMemory(ctx context.Context) {
	if f.rclone == nil || !f.Out.Verbose() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, memoryTimeout)
	defer cancel()
	if theirs, err := f.rclone.Memory(ctx); err == nil { // else it has ended
		f.Out.Notef("Memory       %s, and %s of rclone", ui.Bytes(rclone.OwnMemory().Most()), ui.Bytes(theirs.Most()))
	}
}

// RcloneSources returns the remotes in the configuration of rclone, as sources.
func (f *Factory) RcloneSources(ctx context.Context) ([]string, error) {
	names, err := rclone.RemoteNames(ctx, f.Settings.Rclone, os.Environ())
	for i, name := range names {
		names[i] = rcloneScheme + name + ":"
	}
	return names, err
}

// InheritRclone adds what a scheduled run needs to start rclone: its variables and its configuration,
// in which rclone stores renewed tokens.
func (f *Factory) InheritRclone(ctx context.Context, inherited config.Inheritance) (config.Inheritance, error) {
	server, err := f.Rclone(ctx)
	if err != nil {
		return inherited, err
	}
	environ := os.Environ()
	file, err := rclone.ConfigFile(ctx, server.Program(), environ)
	if err != nil {
		return inherited, err
	}
	for _, v := range rclone.Variables(environ) {
		if v.Name != "RCLONE_CONFIG" {
			inherited.Variables = append(inherited.Variables, config.Variable{Name: v.Name, Value: v.Value, Secret: v.Secret})
		}
	}
	if _, err := os.Stat(file); err == nil {
		inherited.Variables = append(inherited.Variables, config.Variable{Name: "RCLONE_CONFIG", Value: file})
		inherited.Written = append(inherited.Written, file)
	}
	return inherited, nil
}

// AddRcloneFlags adds the options of sources that rclone reads.
func AddRcloneFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "rclone", "rclone program `file` for SOURCE rclone:REMOTE:path (default: the first in PATH)")
}
