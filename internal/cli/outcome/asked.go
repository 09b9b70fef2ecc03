package outcome

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/config"
	"assetferry/internal/flagname"
	"assetferry/internal/schedule"
	"assetferry/migrate"
	"assetferry/state"
)

// Asked is the part of the first call of a run that its rules do not hold. Without it, a command
// that resumes the run would be refused, or would lack a safety check.
type Asked struct {
	Source string     `json:"source,omitempty"` // path or URL
	Plan   string     `json:"plan,omitempty"`   // file of apply
	Flags  [][]string `json:"flags,omitempty"`  // the words of each, paths absolute
	// Approval is the signed request in --approval. It is valid for the same command only.
	Approval string `json:"approval,omitempty"`
}

// StoredRules are the rules of a run in the state database, with the settings that a schedule
// compares and the first call. Only the rules decide whether a run is resumed.
type StoredRules struct {
	migrate.Rules
	Settings map[string][]string `json:"settings,omitempty"`
	Asked    Asked               `json:"asked"`
}

// Asks returns what this call asks for, to be stored with its run.
func Asks(f *command.Factory, source string) (Asked, error) {
	is := Asked{Source: source}
	var err error
	if f.PlanFile != "" {
		if is.Plan, err = filepath.Abs(f.PlanFile); err != nil {
			return is, err
		}
	}
	if approved := f.Called.Flags().Lookup("approval"); approved != nil && approved.Changed {
		if is.Approval, err = filepath.Abs(approved.Value.String()); err != nil {
			return is, err
		}
	}
	f.Called.Flags().Visit(func(flag *pflag.Flag) {
		if err != nil || flag.Name == "wait" || slices.Contains(slices.Concat(cmdline.OnlyHere, cmdline.SingleRunFlags), flag.Name) || slices.Contains(OfRules, "--"+flag.Name) {
			return
		}
		words := cmdline.FlagWords(flag)
		if flag.Name == "config" || f.Settings.IsPath(flag.Name) {
			var path string
			path, err = filepath.Abs(flag.Value.String())
			words = cmdline.WithValue(flag.Name, path)
		}
		is.Flags = append(is.Flags, words)
	})
	return is, err
}

// askedBy reads the first call of a run; zero for runs of earlier versions.
func askedBy(run state.Run) Asked {
	var stored struct {
		Asked Asked `json:"asked"`
	}
	_ = json.Unmarshal(run.Rules, &stored) // ReadRules reports errors
	return stored.Asked
}

// describing are the flags for the metadata of assets. A resumed run keeps its own.
var describing = []string{"--metadata", "--collections", "--collections-as", "--collection-prefix", "--precedence", "--ignore-metadata", "--gps", "--on-limit"}

// flagsOf returns the flags for a command about a run: those of this call, then those of its
// first call.
func flagsOf(f *command.Factory, run state.Run, command string) (flags []string) {
	was, not := askedBy(run), OfRules
	if was.Source != "" {
		not = slices.Concat(OfRules, describing)
	}
	flags = f.Carried(command, not)
	other, _, err := f.Called.Root().Find([]string{command})
	if err != nil {
		return flags
	}
	for _, words := range was.Flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(words[0], "--"), "=")
		isGiven := f.Called.Flags().Changed(name) && !slices.Contains(describing, "--"+name)
		if !isGiven && cmdline.Takes(other, name) {
			flags = append(flags, words...)
		}
	}
	if was.Approval != "" && command == run.Command {
		flags = append(flags, cmdline.WithValue("approval", was.Approval)...)
	}
	return flags
}

// FinishIt returns the command that resumes a run with its own rules.
func FinishIt(f *command.Factory, run state.Run) string {
	if run.Command == "apply" {
		was, flags := askedBy(run), flagsOf(f, run, "apply")
		if was.Approval == "" {
			flags = append(flags, "--hash", run.PlanHash)
		}
		return cmdline.Line("apply", flags, cmp.Or(was.Plan, "PLAN_FILE"))
	}
	return CommandOf(f, run, nil)
}

// OfRules are the flags that set the rules of a run.
var OfRules = []string{
	"--source-name", "--wave", "--include", "--exclude", "--files-from", "--min-age", "--versions", "--limit", "--symlinks", "--category", "--category-by", "--unsupported",
	"--fallback-category",
	"--on-collision", "--on-existing", "--duplicates", "--delete", "--grace-period", "--on-replace-refused", "--on-destination-change",
	"--only", "--checksum", "--repair", "--refresh-metadata",
}

// differing returns the flag for a setting, unless its value is in effect without one.
func differing(f *command.Factory, name, was, is string) []string {
	if was == is && f.Settings.SourceOf(strings.ReplaceAll(name, "-", "_")) != config.FromFlag {
		return nil
	}
	return cmdline.WithValue(name, was)
}

// RuleSwitches returns the flags that set the rules of a run.
func RuleSwitches(f *command.Factory, r migrate.Rules) (switches []string) {
	c := f.Settings
	say := func(name, was, is string) { switches = append(switches, differing(f, name, was, is)...) }
	sayAll := func(name string, was, is []string) {
		if !slices.Equal(was, is) || f.Settings.SourceOf(name) == config.FromFlag {
			for _, value := range was {
				switches = append(switches, cmdline.WithValue(name, value)...)
			}
		}
	}
	if r.Wave != nil {
		say("wave", r.Wave.Name, c.Wave)
	}
	sayAll("include", r.Include, c.Include)
	sayAll("exclude", r.Exclude, c.Exclude)
	if r.FilesFrom != nil { // the state has only the checksum of the list
		switches = append(switches, "--files-from", "FILE")
	}
	say("min-age", r.MinAge.String(), c.MinAge.String())
	say("versions", strconv.Itoa(max(1, r.Versions)), strconv.Itoa(c.Versions))
	if r.Limit > 0 {
		switches = append(switches, "--limit", strconv.Itoa(r.Limit))
	}
	say("symlinks", r.Symlinks, c.Symlinks)
	switch {
	case r.Category != "":
		say("category", r.Category, c.Category)
	case c.Category != "":
		switches = append(switches, "--category-by", r.CategoryBy)
	default:
		say("category-by", r.CategoryBy, c.CategoryBy)
	}
	say("unsupported", r.Unsupported, c.Unsupported)
	if r.Unsupported == "create" && r.FallbackCategory != "" {
		say("fallback-category", r.FallbackCategory, c.FallbackCategory)
	}
	say("on-collision", r.OnCollision, c.OnCollision)
	say("on-existing", r.OnExisting, c.OnExisting)
	say("duplicates", cmp.Or(r.Duplicates, "keep"), c.Duplicates)
	if r.Sync == nil {
		return switches
	}
	say("delete", r.Sync.Delete, c.Delete)
	say("grace-period", r.Sync.GracePeriod.String(), c.GracePeriod.String())
	say("on-replace-refused", r.Sync.OnReplaceRefused, c.OnReplaceRefused)
	say("on-destination-change", r.Sync.OnDestinationChange, c.OnDestinationChange)
	if r.Sync.Failed != nil {
		switches = append(switches, "--only", "failed")
	}
	for _, s := range []struct {
		name string
		on   bool
	}{{"checksum", r.Sync.Checksum}, {"repair", r.Sync.Repair}, {"refresh-metadata", r.Sync.RefreshMetadata}} {
		if s.on {
			switches = append(switches, "--"+s.name)
		}
	}
	return switches
}

// SettingsOfRun returns the effective settings that a schedule compares, for a command.
func SettingsOfRun(f *command.Factory, cmd *cobra.Command) map[string][]string {
	found := map[string][]string{}
	for _, key := range schedule.ComparedSettings() {
		if cmdline.Takes(cmd, flagname.Of(key)) {
			found[key] = f.Settings.Texts(key)
		}
	}
	return found
}
