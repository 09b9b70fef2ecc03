package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Describe returns the kind of value that a flag takes, empty for a flag without one, and the
// meaning of the flag with its default.
//
// The kind is the text between back quotes in the usage of the flag. If that opens the usage and a
// colon follows, as in "`text|csv`: report format", the kind is no part of the meaning.
func Describe(f *pflag.Flag) (kind, meaning string) {
	usage := f.Usage
	kind, meaning = pflag.UnquoteUsage(f)
	if rest, ok := strings.CutPrefix(usage, "`"+kind+"`: "); ok {
		meaning = rest
	}
	if f.DefValue != "" && !strings.Contains(meaning, "(default") && !isZero(f.DefValue) {
		meaning += fmt.Sprintf(" (default %s)", strings.Trim(f.DefValue, "[]"))
	}
	return kind, meaning
}

func isZero(value string) bool {
	switch value {
	case "false", "0", "0s", "[]", "<nil>":
		return true
	}
	return false
}

// A Group is a section of the flags of a command.
type Group struct {
	Title string
	Flags []*pflag.Flag
}

// groups lists the sections in the order of the help, with the flags in each.
var groups = []struct{ title, flags string }{
	{"Presets", "preset"},
	{"Selection", "wave include exclude files-from min-age versions limit only symlinks retry-exhausted checksum refresh-metadata repair" +
		" finding again in extension tag since"},
	{"Placement", "category category-by unsupported fallback-category source-name explain-mapping"},
	{"Metadata", "metadata collections collections-as collection-prefix precedence ignore-metadata gps on-limit provenance"},
	{"Conflicts", "on-existing on-collision duplicates on-destination-change on-replace-refused"},
	{"Deletions", "delete grace-period max-delete max-delete-percent"},
	{"Safety", "dry-run yes sentinel max-changes max-changes-percent drift-share accept-rules accept-deletes accept-changes restart" +
		" scan-command scan-timeout approval approval-request approval-expires approved-by hash"},
	{"Limits", "concurrency max-requests bwlimit max-duration until wait confirm-timeout keep-runs max-credits" +
		" max-file-size max-megapixels max-storage max-bandwidth plan"},
	{"Source access", "endpoint s3-anonymous s3-requester-pays s3-tags table-columns table-root table-check rclone source-host wordpress-folders"},
	{"Privacy", "enrich-exclude enrich-private never-category never-tag"},
	{"AI content service", "ai-model ai-context ai-limits ai-compatibility ai-permission ai-route" +
		" no-ai ai-listen ai-fault ai-rates ai-credits ai-on-premises ai-profile ai-output language"},
	{"Faults", "fault latency processing-delay clock-skew"},
	{"Scheduling", "watch rescan sync at format user-unit load-credential"},
	{"Notifications", "notify notify-file metrics"},
	{"Output", "output exit-code probe"},
	{"Credentials", "credentials-from-env"},
	{"Connection", "to workspace service user ai-url state config job service-profile ca-file compensate-clock least-privilege allow-http allow-private-networks"},
	{"Messages", "json quiet verbose progress log-file help help-all"},
}

// Groups sorts flags into the sections of the help. Flags without a section come last.
func Groups(flags []*pflag.Flag) (sorted []Group) {
	left := map[string]*pflag.Flag{}
	for _, f := range flags {
		left[f.Name] = f
	}
	for _, g := range groups {
		group := Group{Title: g.title}
		for name := range strings.FieldsSeq(g.flags) {
			if f := left[name]; f != nil {
				group.Flags = append(group.Flags, f)
				delete(left, name)
			}
		}
		if len(group.Flags) > 0 {
			sorted = append(sorted, group)
		}
	}
	other := Group{Title: "Other"}
	for _, f := range flags {
		if left[f.Name] != nil {
			other.Flags = append(other.Flags, f)
		}
	}
	if len(other.Flags) > 0 {
		sorted = append(sorted, other)
	}
	return sorted
}

// Visible lists the flags of a set that are not hidden, by name.
func Visible(set *pflag.FlagSet) (flags []*pflag.Flag) {
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, f)
		}
	})
	return flags
}

// common names the flags that most people need first, by command. A command without a row has
// few flags, and its help lists them all.
var common = map[string]string{
	"plan":             "preset unsupported include exclude category metadata on-existing sync output probe exit-code",
	"migrate":          "dry-run preset unsupported include exclude limit category metadata on-existing concurrency",
	"sync":             "dry-run preset unsupported include exclude metadata delete max-delete max-changes only",
	"adopt":            "dry-run include exclude category on-existing output concurrency",
	"apply":            "hash dry-run approval approved-by concurrency",
	"schedule":         "at format output user-unit preset unsupported include exclude metadata delete",
	"sandbox":          "data listen fault latency profile plan max-storage no-ai no-library",
	"doctor":           "probe dry-run output ai-output yes",
	"undo":             "run apply dry-run yes content",
	"enrich describe":  "dry-run limit language finding again max-credits yes",
	"enrich review":    "dry-run limit review again max-credits yes",
	"enrich translate": "to language into dry-run limit again max-credits yes",
	"enrich documents": "dry-run language embed-images suffix again summaries option yes",
	"ai ask":           "file page web-search reasoning keep ai-model",
	"ai action":        "prompt format ai-context ai-model",
	"ai review":        "prompt ai-context ai-model",
}

// commonGlobal names the global flags that most people need first.
const commonGlobal = "table to job config json verbose help help-all"

// Common splits the flags of a command into those that most people need first, in their order,
// and the rest.
func Common(c *cobra.Command) (first, rest []*pflag.Flag) {
	if !c.HasParent() {
		return nil, nil
	}
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	own := Visible(c.NonInheritedFlags())
	names, ok := common[path]
	if !ok {
		return without(own, "help"), nil
	}
	return split(own, names)
}

// CommonGlobal splits the global flags of a command in the same way. --help is one of them.
func CommonGlobal(c *cobra.Command) (first, rest []*pflag.Flag) {
	all := c.InheritedFlags()
	if !c.HasParent() {
		all = c.LocalFlags()
	}
	return split(Visible(all), commonGlobal)
}

func split(flags []*pflag.Flag, names string) (first, rest []*pflag.Flag) {
	for name := range strings.FieldsSeq(names) {
		for _, f := range flags {
			if f.Name == name {
				first = append(first, f)
			}
		}
	}
	return first, without(without(flags, "help"), strings.Fields(names)...)
}

func without(flags []*pflag.Flag, names ...string) (kept []*pflag.Flag) {
	for _, f := range flags {
		keep := true
		for _, name := range names {
			keep = keep && f.Name != name
		}
		if keep {
			kept = append(kept, f)
		}
	}
	return kept
}

// GroupedFlags lists the names in all sections, for tests.
func GroupedFlags() (names []string) {
	for _, g := range groups {
		names = append(names, strings.Fields(g.flags)...)
	}
	return names
}

// CommonFlags lists the names of the flags that most people need first, by command, for tests.
func CommonFlags() map[string][]string {
	all := map[string][]string{}
	for path, names := range common {
		all[path] = strings.Fields(names)
	}
	return all
}
