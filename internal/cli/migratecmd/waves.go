package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// waveRule returns the wave of --wave. If the configuration has waves, a run must choose one: a run
// of the whole source would migrate the objects of all departments.
func waveRule(f *command.Factory, cmd *cobra.Command, source string) (*migrate.Wave, error) {
	all, err := f.Waves()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if f.Settings.Wave == "" {
		hint := "choose one:"
		for _, w := range all {
			hint += "\n  " + f.Again(cmd.Name(), f.SourceArgument(source), "--wave", w.Name)
		}
		return nil, exit.Usage(fmt.Errorf("%s: the configuration has the waves %s, and --wave is missing", cmd.Name(), strings.Join(all.Names(), ", ")), hint)
	}
	return all.Named(f.Settings.Wave), nil
}

// ofWave returns the text that names the wave of a run before its source; empty without a wave.
func ofWave(p state.Pair) string {
	if p.Wave == "" {
		return ""
	}
	return "wave " + p.Wave + " of "
}

// introduceWave shows the definition of the wave, and how it differs from that of the last run.
func introduceWave(ctx context.Context, f *command.Factory, s *endpoints) error {
	w := s.rules.Wave
	if w == nil {
		return nil
	}
	f.Out.Notef("Wave         %s", ui.Sanitize(w.Text()))
	if !w.Freeze.IsZero() {
		f.Out.Notef("Freeze       %s", w.Freeze.Local().Format(time.DateTime))
	}
	last, err := s.store.LastApplied(ctx, s.pair)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	was, err := migrate.ReadRules(last)
	if err != nil || was.Wave == nil || was.Wave.Text() == w.Text() {
		return err
	}
	f.Out.Notef("The wave was different in run %s: %s. Objects that left it keep their assets.", last.ID, ui.Sanitize(was.Wave.Text()))
	return nil
}

// showUnassigned shows an object in no wave.
func showUnassigned(f *command.Factory, o sources.Object) {
	f.Out.Printf("no wave   %s  (%s)", ui.Sanitize(string(o.Key)), ui.Bytes(o.Size))
	f.Out.Event("unassigned", event.Unassigned{Key: string(o.Key), Size: o.Size})
}

// showWaveFindings shows objects in no wave, and objects that changed after the freeze.
func showWaveFindings(f *command.Factory, p migrate.Plan) {
	found := p.Waves
	if n := found.Unassigned; n.Objects > 0 {
		f.Out.Notef("%s in no wave (%s): %s", ui.CountedAs(n.Objects, "object is", "objects are"), ui.Bytes(n.Bytes), firstKeys(n))
		if n.Objects > int64(len(n.First)) && !f.Out.Verbose() {
			f.Out.Notef("To list them all: plan with --verbose")
		}
	}
	if n := found.Frozen; n.Objects > 0 {
		f.Out.Notef("%s after the freeze of wave %s (%s): %s", ui.CountedAs(n.Objects, "object changed", "objects changed"), p.Run.Pair.Wave, ui.Bytes(n.Bytes), firstKeys(n))
	}
	if n := found.Elsewhere; n.Objects > 0 {
		f.Out.Notef("%s not in wave %s: %s", ui.CountedAs(n.Objects, "key of --files-from is", "keys of --files-from are"), p.Run.Pair.Wave, firstKeys(n))
	}
	f.Summary.Unassigned, f.Summary.ChangedAfterFreeze = found.Unassigned.Objects, found.Frozen.Objects
}

// firstKeys lists the first keys of a sum.
func firstKeys(n migrate.WaveSum) string {
	text := ui.Sanitize(strings.Join(texts(n.First), ", "))
	if more := n.Objects - int64(len(n.First)); more > 0 {
		text += fmt.Sprintf(", and %s more", ui.Count(more))
	}
	return text
}

func texts(keys []sources.Key) []string {
	all := make([]string, len(keys))
	for n, key := range keys {
		all[n] = string(key)
	}
	return all
}
