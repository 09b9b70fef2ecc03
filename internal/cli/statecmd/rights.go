package statecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/rights"
	"assetferry/internal/tabular"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// rightsFormats are the values of --format with --rights.
func rightsFormats() []string { return []string{"text", "json", "csv", "keys"} }

func rightsStates() string {
	names := make([]string, 0, len(rights.States()))
	for _, s := range rights.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// checkRights rejects flags that do not fit --rights.
func (o reportOptions) checkRights() error {
	switch {
	case !o.rights && o.within != defaultWithin:
		return exit.Usage(errors.New("--within needs --rights"), "")
	case o.within < 0:
		return exit.Usage(errors.New("--within must not be negative"), "name a number of days")
	case !o.rights:
		return nil
	case !slices.Contains(rightsFormats(), o.format):
		return exit.Usage(fmt.Errorf("--rights has no format %q", o.format), "use one of "+strings.Join(rightsFormats(), ", "))
	case o.only != "" && !slices.Contains(rights.States(), rights.State(o.only)):
		return exit.Usage(fmt.Errorf("--only: unknown state %q", o.only), "with --rights, use one of "+rightsStates())
	case o.splitBy != "":
		return exit.Usage(errors.New("--rights and --split-by cannot be used together"), "")
	}
	return nil
}

// reportRights shows when the rights to the assets of a source end.
func reportRights(ctx context.Context, f *command.Factory, cmd *cobra.Command, o reportOptions) error {
	store, run, err := reportedRun(ctx, f, cmd, o)
	if err != nil {
		return err
	}
	if err := sumUpReport(ctx, f, store, run); err != nil || f.Out.JSON() && o.output == "" {
		return err
	}
	wave, err := f.Wave()
	if err != nil {
		return err
	}
	return f.WriteOutput(o.output, func(w io.Writer) error { return o.writeRights(ctx, w, store, run.Pair, wave) })
}

func (o reportOptions) writeRights(ctx context.Context, w io.Writer, store *state.Store, pair state.Pair, wave *migrate.Wave) error {
	table, counts := tabular.NewWriter(w), map[rights.State]int64{}
	isTable := o.format == "csv" || o.format == "text" && o.only != ""
	if isTable {
		if err := table.Write([]string{"key", "asset_id", "expires", "state"}); err != nil {
			return err
		}
	}
	for a, err := range rights.Assets(ctx, store, pair.ID, clock.Now(), o.within) {
		if err != nil {
			return err
		}
		if !wave.HasKey(sources.Key(a.Key)) {
			continue
		}
		counts[a.State]++
		switch {
		case o.only != "" && a.State != rights.State(o.only):
		case isTable:
			err = table.Write([]string{a.Key, a.AssetID, a.Expires, string(a.State)})
		case o.format == "keys":
			_, err = fmt.Fprintln(w, a.Key)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case o.format == "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(rightsCounts{o.within, counts[rights.Expired], counts[rights.Expiring], counts[rights.Valid], counts[rights.NoDate], counts[rights.Unreadable]})
	case o.format == "text" && !isTable:
		_, err := io.WriteString(w, o.rightsText(counts))
		return err
	}
	return nil
}

// rightsCounts are the numbers of assets by state.
type rightsCounts struct {
	Within     int   `json:"within_days"`
	Expired    int64 `json:"expired"`
	Expiring   int64 `json:"expiring"`
	Valid      int64 `json:"valid"`
	NoDate     int64 `json:"no_date"`
	Unreadable int64 `json:"unreadable"`
}

func (o reportOptions) rightsText(counts map[rights.State]int64) string {
	titles := map[rights.State]string{
		rights.Expired: "expired", rights.Expiring: fmt.Sprintf("expires within %s", ui.Counted(int64(o.within), "day")), rights.Valid: "valid",
		rights.NoDate: "no date", rights.Unreadable: "not a date",
	}
	var rows [][]string
	for _, s := range rights.States() {
		rows = append(rows, []string{string(s), titles[s], ui.Count(counts[s])})
	}
	return ui.Table([]ui.Column{{Title: "State"}, {Title: "Attribute expires"}, {Title: "Assets", Right: true}}, rows)
}
