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
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/metadata"
	"assetferry/internal/oldurl"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/sources"
	"assetferry/state"
)

const metadataHelp = "`file` with metadata, as CSV or JSON Lines (assetferry help metadata)"

// addDescribingFlags adds the flags for the metadata of assets.
func addDescribingFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "metadata", metadataHelp)
	cmdline.Setting(f, "collections", "`file` with the collections of objects: a row for each membership, as CSV or JSON Lines")
	cmdline.Setting(f, "collections-as", "form of collections at the destination: tags, one attribute, or none (only rules use them)")
	cmdline.Setting(f, "collection-prefix", "`text` before the name of a collection in a tag, such as \"Album: \"")
	cmdline.Setting(f, "precedence", "`order` of the metadata sources; for each field, the first source that has it wins")
	cmdline.Setting(f, "ignore-metadata", "metadata `sources` to ignore, or all; ignored sidecars are objects")
	cmdline.Setting(f, "gps", "keep or drop GPS coordinates in metadata")
	cmdline.Setting(f, "on-limit", "handling of texts that are too long for the service: cut at the end of a word, skip the field, or fail the item")
}

// metadataChecksum returns the checksum of the metadata table and of the table of collections; ""
// if there is none.
func metadataChecksum(f *command.Factory) (string, error) {
	sum, err := checksumOf("metadata", f.Settings.Metadata)
	if err != nil || f.Settings.Collections == "" {
		return sum, err
	}
	collections, err := checksumOf("collections", f.Settings.Collections)
	both := sha256.Sum256([]byte(sum + " " + collections))
	return hex.EncodeToString(both[:]), err
}

// checksumOf returns the checksum of the file that a flag names; "" without a name.
func checksumOf(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("--%s: %w", flag, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// openTables opens the tables of the user, if there are any. It runs before any request, so that an
// unreadable table is reported at once.
func openTables(f *command.Factory) (t metadata.Tables, err error) {
	if t.Metadata, err = openTable(f, "metadata", f.Settings.Metadata, metadata.OpenTable); err != nil {
		return t, err
	}
	t.Collections, err = openTable(f, "collections", f.Settings.Collections, metadata.OpenCollections)
	return t, err
}

// openTable opens the table that a flag names; it returns nil without a name.
func openTable(f *command.Factory, flag, name string, open func(string, metadata.Terms) (*metadata.Table, error)) (*metadata.Table, error) {
	if name == "" {
		return nil, nil
	}
	rules, err := f.OldURLTemplates("")
	if err != nil {
		return nil, err
	}
	t, err := open(name, metadata.Terms{
		Word: f.Settings.NewMapping().Word,
		Keys: func(url string) []string { return oldurl.Keys(rules, url) },
		Same: oldurl.Comparable,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usage(err, "check the path given with --"+flag)
	} else if err != nil {
		return nil, exit.Usage(err, exit.HintOf(err))
	}
	f.CloseLater(t.Close)
	return t, nil
}

// IgnoreEmbedded ignores embedded metadata if the source has the complete metadata, unless settings
// say otherwise: metadata that people or rules removed would be found again in the content.
func IgnoreEmbedded(f *command.Factory, complete bool) {
	if complete && f.Settings.SourceOf("precedence") == config.FromDefault && f.Settings.SourceOf("ignore_metadata") == config.FromDefault {
		f.Settings.Ignored = []metadata.Source{metadata.FromXMP, metadata.FromIPTC, metadata.FromEXIF}
	}
}

// introduceTables shows the tables of the user, and their invalid rows.
func introduceTables(f *command.Factory, t metadata.Tables, inFull bool) {
	introduceTable(f, "Metadata   ", f.Settings.Metadata, t.Metadata, inFull)
	introduceTable(f, "Collections", f.Settings.Collections, t.Collections, inFull)
}

func introduceTable(f *command.Factory, title, name string, t *metadata.Table, inFull bool) {
	if t == nil {
		return
	}
	if inFull {
		f.Out.Notef("%s  %s, %s", title, ui.Sanitize(name), ui.Counted(int64(t.Rows()), "row"))
	}
	if invalid := t.Mistakes(); invalid != nil {
		f.Out.Notef("Invalid rows are ignored: %s", invalid.Error())
	}
}

// shownRows is the number of rows without an object that are listed.
const shownRows = 5

// addTables warns of rows of the tables that are for no object, counts collections, and reports
// whether rows are invalid. Rows that name an object by its checksum can only be matched once it
// was uploaded.
func (w *warnings) addTables(ctx context.Context, f *command.Factory, s *endpoints, run state.Run, applied bool) (invalid bool, err error) {
	for _, t := range []struct {
		table *metadata.Table
		name  string
		line  **event.Table
	}{{s.tables.Metadata, "metadata table", &f.Summary.Table}, {s.tables.Collections, "table of collections", &f.Summary.CollectionTable}} {
		if t.table == nil {
			continue
		}
		line := &event.Table{Rows: t.table.Rows()}
		if applied || !t.table.AsksForChecksums() {
			if line.Unmatched, err = w.addUnmatchedRows(ctx, s, run, t.table, t.name); err != nil {
				return false, err
			}
		}
		if mistakes := t.table.Mistakes(); mistakes != nil {
			line.Invalid = mistakes.Total
			w.add(ui.Counted(int64(line.Invalid), "invalid row")+" of the "+t.name, "")
		}
		*t.line = line
		invalid = invalid || line.Invalid > 0
	}
	if counts := s.tables.Counted(); counts.Objects > 0 {
		line := event.Collections(counts)
		f.Summary.Collections = &line
		if !applied { // else the state database has more: also collections from other metadata sources
			w.details = append(w.details, report.Collections(counts).Text())
		}
	}
	return invalid, nil
}

// addUnmatchedRows counts the rows that are for no known object.
func (w *warnings) addUnmatchedRows(ctx context.Context, s *endpoints, run state.Run, t *metadata.Table, name string) (int, error) {
	lost, _, err := t.Lost(0, nil)
	if err != nil || lost == 0 {
		return 0, err
	}
	if err := meetAll(ctx, s, run); err != nil { // most commands look up only a few of the known objects
		return 0, err
	}
	var has func(string) bool
	if w := s.rules.Wave; w != nil { // the run knows nothing of the objects of other waves
		has = func(name string) bool { return w.HasKey(sources.Key(name)) }
	}
	lost, first, err := t.Lost(shownRows, has)
	if err != nil || lost == 0 {
		return 0, err
	}
	details := []string{"Rows of the " + name + " without an object:"}
	for _, row := range first {
		details = append(details, fmt.Sprintf("  line %d: %s", row.Line, ui.Sanitize(row.Known)))
	}
	if more := lost - len(first); more > 0 {
		details = append(details, fmt.Sprintf("  … and %s more", ui.Count(int64(more))))
	}
	w.add(ui.Counted(int64(lost), "row")+" of the "+name+" without an object", strings.Join(details, "\n"))
	return lost, nil
}

// meetAll looks up every object in the tables that the run listed, or that has an asset.
func meetAll(ctx context.Context, s *endpoints, run state.Run) error {
	meet := func(o metadata.Identity) error {
		_, _, err := s.tables.Describe(o)
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
		if err == nil && s.rules.Wave.HasKey(r.Key) {
			err = meet(metadata.Identity{Key: string(r.Key), Checksum: r.Checksum})
		}
		if err != nil {
			return err
		}
	}
	for d, err := range s.store.Described(ctx, s.pair.ID, "") {
		var given metadata.Found
		if err == nil && s.rules.Wave.HasKey(d.Key) {
			given, err = metadata.DecodeFound(d.OldURLs)
		}
		if err == nil && given != nil {
			err = meet(metadata.Identity{Key: string(d.Key), OldURLs: given.OldURLs()})
		}
		if err != nil {
			return fmt.Errorf("look for old URLs: %w", err)
		}
	}
	return nil
}
