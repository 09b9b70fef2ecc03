package evidencecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"reflect"
	"sync/atomic"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/state"
	"assetferry/state/actionlog"
)

// checkLive compares the present with a certificate, in three steps: the action log of the state
// database continues that of the certificate, the upload records are those of the list, and the
// destination matches the upload records.
func checkLive(ctx context.Context, f *command.Factory, name string, c certificate.Certificate, content bool) error {
	dest, store, pairs, err := f.OpenRecorded(ctx)
	if err != nil {
		return err
	}
	pair, err := pairOf(pairs, c)
	if err != nil {
		return err
	}
	found, err := continuesLog(ctx, store, c.Log)
	if err != nil {
		return err
	}
	l := live{f: f}
	if !found {
		l.add("", fmt.Sprintf("the action log of the state database does not contain entry %d of the certificate", c.Log.Entries))
	}
	if err := l.compareRecords(ctx, store, pair.ID, name+listSuffix, c); err != nil {
		return err
	}
	level := verify.LevelListing
	if content {
		level = verify.LevelChecksum
	}
	v := verify.New(migrate.Deps{Dest: dest.Client, State: store, Log: f.Out.Log(), Now: dest.Now}, level, 0)
	v.Since = c.CreatedAt.Add(dest.Now().Sub(clock.Now()))
	v.Concurrency, v.Unlisted = f.Settings.Concurrency, verify.DefaultUnlisted+2*dest.Profile.ListingDelay
	watch := f.Watch()
	if c.Scope.Kind == certificate.ScopeWave {
		w := c.Scope.Waves[0]
		v.Wave = &migrate.Wave{Name: w.Name, Folders: w.Folders, Include: w.Include, Exclude: w.Exclude}
	}
	inScope := &scoped{Observer: watch, has: covers(c.Scope)}
	v.Watch = inScope
	result, err := v.Verify(ctx, pair)
	f.Out.Progress().EndPhase()
	if err != nil {
		return err
	}
	watch.ShowFound()
	l.different += inScope.different.Load()
	if v.Undated > 0 {
		f.Out.Notef("Warning: for %s, the service reports no time of the last change. Changed metadata is not found.", ui.Counted(v.Undated, "asset"))
	}
	if l.different == 0 {
		f.Out.Printf("Nothing has changed since the certificate: %s compared (%s).", ui.Counted(min(result.Receipts, c.Assets.Objects), "asset"), level)
		return nil
	}
	f.Out.Printf("%s from the certificate.", ui.Counted(l.different, "difference"))
	f.Out.Next("Explain a difference:", f.Again("explain", []string{"KEY"}))
	return exit.Said(exit.CodeDifference)
}

// pairOf finds the source and destination of a certificate.
func pairOf(pairs []state.Pair, c certificate.Certificate) (state.Pair, error) {
	for _, p := range pairs {
		if p.Source == c.Source && p.Destination == c.Destination {
			return p, nil
		}
	}
	return state.Pair{}, exit.With(exit.CodeNoSuch, fmt.Errorf("the certificate is for %s at %s, which the state database does not contain", ui.Sanitize(c.Source), ui.Sanitize(c.Destination)),
		"select the destination and the state database of the certificate with --to and --state")
}

// continuesLog reports whether the action log contains the last entry of a certificate.
func continuesLog(ctx context.Context, store *state.Store, sealed actionlog.Head) (found bool, err error) {
	var chain actionlog.Chain
	_, err = store.ReadLog(ctx, 0, func(line string) error {
		_, err := chain.Add(line)
		found = found || chain.Head() == sealed
		return err
	})
	if errors.Is(err, actionlog.ErrChanged) {
		return false, nil
	}
	return found, err
}

// live counts differences.
type live struct {
	f         *command.Factory
	different int64
}

func (l *live) add(key, text string) {
	l.different++
	l.f.Out.Event("check", event.Check{Key: key, Result: "difference", Message: text})
	if key != "" {
		text = key + ": " + text
	}
	if l.different <= outcome.ShownProblems || l.f.Out.Verbose() {
		l.f.Out.Printf("! %s", ui.Sanitize(text))
	}
}

// compareRecords compares the upload records with the list of a certificate. Without the list, it
// compares the root only.
func (l *live) compareRecords(ctx context.Context, store *state.Store, pair int64, name string, c certificate.Certificate) error {
	want, covered := c.Assets, covers(c.Scope)
	list, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		now, err := writeList(ctx, store, pair, covered, io.Discard)
		if err == nil && now != want {
			l.add("", "the upload records have changed. Copy the list of assets to the folder of the certificate to see them")
		}
		return err
	} else if err != nil {
		return err
	}
	defer list.Close()
	next, stop := iter.Pull2(store.Receipts(ctx, pair, ""))
	defer stop()
	now := &present{next: next, covered: covered}
	if err := now.advance(); err != nil {
		return err
	}
	err = certificate.CheckList(list, want, func(sealed certificate.Record) error { return l.compare(now, sealed) })
	for err == nil && now.left {
		l.add(now.record.FullKey(), "uploaded since")
		err = now.advance()
	}
	return err
}

// compare compares a sealed record with the present ones up to its key.
func (l *live) compare(now *present, sealed certificate.Record) error {
	key := sealed.FullKey()
	for now.left && now.record.FullKey() < key {
		l.add(now.record.FullKey(), "uploaded since")
		if err := now.advance(); err != nil {
			return err
		}
	}
	switch {
	case !now.left || now.record.FullKey() != key:
		l.add(key, "its upload record was deleted since")
		return nil
	case now.record.Asset != sealed.Asset:
		l.add(key, "has another asset since: "+now.record.Asset)
	case now.record.SHA256 != sealed.SHA256:
		l.add(key, "its content was replaced since")
	case !reflect.DeepEqual(now.record, sealed):
		l.add(key, "was moved or changed since by a later run")
	}
	return now.advance()
}

// scoped passes on only the differences of objects that a certificate covers.
type scoped struct {
	migrate.Observer
	has       func(sources.Key) bool
	different atomic.Int64
}

// Found implements migrate.Observer.
func (c *scoped) Found(d migrate.Difference) {
	if !c.has(sources.Key(d.Key)) {
		return
	}
	d.Note = d.Note && d.Field != migrate.FieldModified // a later change is a difference from a certificate
	if !d.Note {
		c.different.Add(1)
	}
	c.Observer.Found(d)
}

// present yields the present upload records.
type present struct {
	next    func() (state.Receipt, error, bool)
	covered func(sources.Key) bool
	record  certificate.Record
	left    bool
}

func (p *present) advance() error {
	r, err, ok := p.next()
	for ok && err == nil && !p.covered(r.Key) {
		r, err, ok = p.next()
	}
	p.left = ok && err == nil
	if p.left {
		p.record = recordOf(r)
	}
	return err
}
