package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/config"
	"assetferry/internal/shell"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// commandLine writes a command as a person can type it into a shell here. An argument that begins
// as switches do comes last, where it is taken for none.
func commandLine(command string, switches []string, args ...string) string {
	words := strings.Fields(command)
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		words = slices.Concat(words, switches, []string{"--"}, args)
	} else {
		words = slices.Concat(words, args, switches)
	}
	for n, word := range words {
		words[n] = shellWord(word)
	}
	return programName() + " " + ui.Sanitize(strings.Join(words, " "))
}

// shellWord quotes a word where a shell would not take it as it is.
func shellWord(s string) string { return shell.Word(s) }

func shellQuote(s string) string { return shell.Quote(s) }

// withValue is a switch with its value.
func withValue(name, value string) []string {
	if strings.HasPrefix(value, "-") {
		return []string{"--" + name + "=" + value}
	}
	return []string{"--" + name, value}
}

// onlyHere are switches of one call that no other call needs to do the same to the same
// objects: how it is told, and what was let happen once. Addresses of --notify are secrets.
var onlyHere = []string{
	"json", "quiet", "verbose", "progress", "log-file", "metrics", "notify", "notify-file", "watch", "rescan",
	"dry-run", "output", "exit-code", "probe", "restart", "yes", "accept-rules", "accept-deletes", "accept-changes", "approved-by", "hash", "approval", "approval-request", "approval-expires",
	"run", "apply", "source",
}

// again writes a command for what this call is about: with the switches that this one was
// called with, as far as the other takes them, and with some more.
func (a *app) again(command string, args []string, more ...string) string {
	return commandLine(command, append(a.carried(command, more), more...), args...)
}

// sourceArgument is the source as an argument; nothing if a job has it.
func (a *app) sourceArgument(source string) []string {
	if a.settings.Job != "" {
		return nil
	}
	return []string{source}
}

// carried are the switches of this call that another command takes as well, but for those
// that it is given anyway.
func (a *app) carried(command string, but []string) (switches []string) {
	return a.carriedBut(command, but, onlyHere)
}

// carriedBut is carried for a command to which other switches than onlyHere matter.
func (a *app) carriedBut(command string, but, here []string) (switches []string) {
	other, _, err := a.called.Root().Find([]string{command})
	if err != nil {
		return nil
	}
	a.called.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(here, f.Name) || slices.Contains(but, "--"+f.Name) || !takes(other, f.Name) {
			return
		}
		switches = append(switches, flagWords(f)...)
	})
	return switches
}

// flagWords writes a flag with its value, or each of its values.
func flagWords(f *pflag.Flag) (words []string) {
	list, isList := f.Value.(pflag.SliceValue)
	switch {
	case isList:
		for _, value := range list.GetSlice() {
			words = append(words, withValue(f.Name, value)...)
		}
		return words
	case f.NoOptDefVal != "" && f.Value.String() == f.NoOptDefVal:
		return []string{"--" + f.Name}
	case f.NoOptDefVal != "":
		return []string{"--" + f.Name + "=" + f.Value.String()}
	}
	return withValue(f.Name, f.Value.String())
}

func takes(c *cobra.Command, name string) bool {
	return c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil
}

// finishIt is how a run of another command is finished: by its own rules, as far as the
// settings of this call do not say the same.
func (a *app) finishIt(run state.Run) string {
	if run.Command == "apply" {
		return commandLine("apply", append(a.flagsOf(run, "apply"), "--hash", run.PlanHash), cmp.Or(askedBy(run).Plan, "PLAN_FILE"))
	}
	return a.commandOf(run, nil)
}

// ofRules are the switches that ask for rules of a run.
var ofRules = []string{
	"--source-name", "--include", "--exclude", "--files-from", "--min-age", "--limit", "--symlinks", "--category", "--category-by", "--unmatched",
	"--fallback-category",
	"--on-collision", "--on-existing", "--duplicates", "--delete", "--quarantine", "--on-replace-refused", "--on-destination-change",
	"--only", "--checksum", "--repair", "--describe-again",
}

// differing is the switch for a setting that was something else than it is where nothing is
// said.
func (a *app) differing(name, was, is string) []string {
	if was == is && a.settings.Origin(strings.ReplaceAll(name, "-", "_")) != config.FromFlag {
		return nil
	}
	return withValue(name, was)
}

// ruleSwitches ask for the rules of a run.
func (a *app) ruleSwitches(r migrate.Rules) (switches []string) {
	c := a.settings
	say := func(name, was, is string) { switches = append(switches, a.differing(name, was, is)...) }
	sayAll := func(name string, was, is []string) {
		if !slices.Equal(was, is) || a.settings.Origin(name) == config.FromFlag {
			for _, value := range was {
				switches = append(switches, withValue(name, value)...)
			}
		}
	}
	sayAll("include", r.Include, c.Include)
	sayAll("exclude", r.Exclude, c.Exclude)
	if r.FilesFrom != nil { // of which only the digest is known
		switches = append(switches, "--files-from", "FILE")
	}
	say("min-age", r.MinAge.String(), c.MinAge.String())
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
	say("unmatched", r.Unmatched, c.Unmatched)
	if r.Unmatched == "create" && r.FallbackCategory != "" {
		say("fallback-category", r.FallbackCategory, c.FallbackCategory)
	}
	say("on-collision", r.OnCollision, c.OnCollision)
	say("on-existing", r.OnExisting, c.OnExisting)
	say("duplicates", cmp.Or(r.Duplicates, "keep"), c.Duplicates)
	if r.Sync == nil {
		return switches
	}
	say("delete", r.Sync.Delete, c.Delete)
	say("quarantine", r.Sync.Quarantine.String(), c.Quarantine.String())
	say("on-replace-refused", r.Sync.OnReplaceRefused, c.OnReplaceRefused)
	say("on-destination-change", r.Sync.OnDestinationChange, c.OnDestinationChange)
	if r.Sync.Failed != nil {
		switches = append(switches, "--only", "failed")
	}
	for _, s := range []struct {
		name string
		on   bool
	}{{"checksum", r.Sync.Checksum}, {"repair", r.Sync.Repair}, {"describe-again", r.Sync.DescribeAgain}} {
		if s.on {
			switches = append(switches, "--"+s.name)
		}
	}
	return switches
}
