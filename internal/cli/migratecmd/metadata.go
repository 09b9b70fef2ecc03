package migratecmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/metadata"
	"assetferry/internal/oldurl"
	"assetferry/internal/ui"
	"assetferry/sources"
	"assetferry/state"
)

const metadataHelp = "describe assets with this `file`: a table of CSV or JSON Lines; assetferry help metadata tells the form"

// addDescribingFlags adds what describes assets.
func addDescribingFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "metadata", metadataHelp)
	cmdline.Setting(f, "precedence", "the `order` in which origins overrule each other where they say different things of an object")
	cmdline.Setting(f, "ignore-metadata", "`origins` that are not looked at, or all; without sidecar, files beside objects are objects themselves")
	cmdline.Setting(f, "gps", "what becomes of `positions` on earth")
	cmdline.Setting(f, "on-limit", "`policy` for texts that are longer than the service takes them: cut at the end of a word, skip the field, or fail")
}

// metadataChecksum is the checksum of the table that describes objects; empty if there is
// none.
func metadataChecksum(f *command.Factory) (string, error) {
	if f.Settings.Metadata == "" {
		return "", nil
	}
	file, err := os.Open(f.Settings.Metadata)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("--metadata: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// openMetadata opens the table that describes objects, nil if there is none. That it cannot
// be read is told before anybody is asked for anything.
func openMetadata(f *command.Factory) (*metadata.Table, error) {
	if f.Settings.Metadata == "" {
		return nil, nil
	}
	rules, err := f.AddressRules("")
	if err != nil {
		return nil, err
	}
	t, err := metadata.OpenTable(f.Settings.Metadata, metadata.Terms{
		Word: f.Settings.NewMapping().Word,
		Keys: func(address string) []string { return oldurl.Keys(rules, address) },
		Same: oldurl.Comparable,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usage(err, "check the path given with --metadata")
	} else if err != nil {
		return nil, exit.Usage(err, exit.HintOf(err))
	}
	f.CloseLater(t.Close)
	return t, nil
}

// trusts has nothing looked for in contents where their source tells all there is to tell,
// unless somebody says where to look: what people or rules left out would be found again.
func trusts(f *command.Factory, s sources.Source) {
	if s.Traits().Complete && f.Settings.SourceOf("precedence") == config.FromDefault && f.Settings.SourceOf("ignore_metadata") == config.FromDefault {
		f.Settings.Ignored = []metadata.Source{metadata.FromXMP, metadata.FromIPTC, metadata.FromEXIF}
	}
}

// introduceMetadata says what describes assets, if anything does, and which rows do not.
func introduceMetadata(f *command.Factory, t *metadata.Table) {
	if t == nil {
		return
	}
	f.Out.Notef("Metadata     %s, %s", ui.Sanitize(f.Settings.Metadata), ui.Counted(int64(t.Rows()), "row"))
	if wrong := t.Mistakes(); wrong != nil {
		f.Out.Notef("Rows that are wrong are left out: %s", wrong.Error())
	}
}

// shownLost is how many rows are shown that are for no object.
const shownLost = 5

// printTable says at the end which rows of the table described nothing, and reports whether
// any of them is wrong. Whether a row that knows its object by the content is for one is
// only known once all has arrived.
func printTable(ctx context.Context, f *command.Factory, s *endpoints, run state.Run, applied bool) (wrong bool, err error) {
	t := s.metadata
	if t == nil {
		return false, nil
	}
	lost := 0
	if applied || !t.AsksForChecksums() {
		if lost, err = printLost(ctx, f, s, run); err != nil {
			return false, err
		}
	}
	line := event.Table{Rows: t.Rows(), Unmatched: lost}
	if mistakes := t.Mistakes(); mistakes != nil {
		line.Invalid = mistakes.Total
		f.Out.Notef("Left out of the metadata table, because they are wrong: %s, which the beginning of the output tells. Mend them, and run it again.", ui.Counted(int64(line.Invalid), "row"))
	}
	f.Summary.Table = &line
	return line.Invalid > 0, nil
}

// printLost tells which rows are for no object that is known.
func printLost(ctx context.Context, f *command.Factory, s *endpoints, run state.Run) (int, error) {
	lost, _, err := s.metadata.Lost(0)
	if err != nil || lost == 0 {
		return 0, err
	}
	if err := meetAll(ctx, s, run); err != nil { // most commands ask for few of those that are known
		return 0, err
	}
	lost, first, err := s.metadata.Lost(shownLost)
	if err != nil || lost == 0 {
		return 0, err
	}
	f.Out.Notef("Rows of the metadata table that are for no object: %s", ui.Count(int64(lost)))
	for _, row := range first {
		f.Out.Notef("  line %d: %s", row.Line, ui.Sanitize(row.Known))
	}
	if more := lost - len(first); more > 0 {
		f.Out.Notef("  and %s more", ui.Count(int64(more)))
	}
	return lost, nil
}

// meetAll has the table meet every object that the run listed, or that arrived before.
func meetAll(ctx context.Context, s *endpoints, run state.Run) error {
	meet := func(o metadata.Identity) error {
		_, _, err := s.metadata.Describe(o)
		return err
	}
	for i, err := range s.store.Items(ctx, run.Num) {
		if err == nil {
			err = meet(metadata.Identity{Key: string(i.Key)})
		}
		if err != nil {
			return err
		}
	}
	for r, err := range s.store.Receipts(ctx, s.pair.ID, "") {
		if err == nil {
			err = meet(metadata.Identity{Key: string(r.Key), Checksum: r.Checksum})
		}
		if err != nil {
			return err
		}
	}
	for d, err := range s.store.Described(ctx, s.pair.ID, "") {
		var given metadata.Found
		if err == nil {
			given, err = metadata.DecodeFound(d.OldURLs)
		}
		if err == nil && given != nil {
			err = meet(metadata.Identity{Key: string(d.Key), Addresses: given.Addresses()})
		}
		if err != nil {
			return fmt.Errorf("look for old addresses: %w", err)
		}
	}
	return nil
}
