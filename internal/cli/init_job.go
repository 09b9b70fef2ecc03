package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/config"
	"assetferry/internal/flagname"
	"assetferry/sources/ckbox"
	"assetferry/sources/ckfinder"
	"assetferry/sources/s3"
)

// jobOptions are what a job of init says.
type jobOptions struct {
	name, source string
	private      bool
	settings     []jobSetting
}

// A jobSetting is a setting that init asks for, with a default that deletes and replaces
// nothing, and stops where a person has to decide.
type jobSetting struct {
	key, prompt, why string
	value            string // the default, or what was answered
	after            string // asked only where the setting before has this value
}

func newJobSettings() []jobSetting {
	return []jobSetting{
		{key: "on_existing", prompt: "Existing name", value: "conflict",
			why: "If the destination already has another file with the same name: conflict uploads\n" +
				"nothing and reports it, adopt matches the file if its size is equal, duplicate\n" +
				"uploads beside it. Identical files are always matched."},
		{key: "on_collision", prompt: "Names that differ only in case", value: "rename",
			why: "If two files of the source have names that differ only in case, such as A.jpg and\n" +
				"a.jpg: rename adds a suffix to the second, keep uploads both as they are,\n" +
				"conflict reports the second and does not upload it."},
		{key: "delete", prompt: "Deletions", value: "never",
			why: "If a file is deleted at the source: never keeps its asset and reports it, trash\n" +
				"moves the asset to the trash of the service after a grace period. Only sync does\n" +
				"that."},
		{key: "quarantine", prompt: "Grace period", value: "20h", after: "trash",
			why: "The grace period: a file has to be missing for this time, and in two runs, before\n" +
				"its asset is moved to the trash. Such as 20h or 7d."},
		{key: "unmatched", prompt: "Unsupported file types", value: "stop",
			why: "If no category accepts a file type: stop lists the types before anything is\n" +
				"uploaded, skip leaves the files out, create makes a category for them."},
	}
}

func addJobFlags(f *pflag.FlagSet, o *jobOptions) {
	o.settings = newJobSettings()
	f.StringVar(&o.source, "source", "", "the `source` of the job: a folder, a bucket or a table")
	f.BoolVar(&o.private, "private", false, "upload only into private categories")
	setting(f, "on-existing", "`policy` if another asset has the name")
	setting(f, "on-collision", "`policy` for names that differ only in case or Unicode form")
	setting(f, "delete", "`policy` for assets whose files are deleted at the source")
	setting(f, "quarantine", "grace `period` before an asset is moved to the trash")
	setting(f, "unmatched", "`policy` for file types that no category accepts")
}

// begin takes what the flags say.
func (o *jobOptions) begin(cmd *cobra.Command, asks bool) error {
	o.name, _ = cmd.Flags().GetString("job")
	if o.name != "" && !config.IsName(o.name) {
		return usage(fmt.Errorf("--job: %q cannot be the name of a job", o.name), `use letters, digits and ".-_"`)
	}
	if err := o.checkSource(o.source); o.source != "" && err != nil {
		return usage(fmt.Errorf("--source: %w", err), "name a folder, s3://bucket/prefix or table:FILE")
	}
	needs := []string{"job", "private"}
	for i := range o.settings {
		s := &o.settings[i]
		flag := flagname.Of(s.key)
		needs = append(needs, flag)
		if !cmd.Flags().Changed(flag) {
			continue
		}
		s.value, _ = cmd.Flags().GetString(flag)
		if err := config.CheckSetting(s.key, s.value); err != nil {
			return usage(fmt.Errorf("--%s: %w", flag, err), "")
		}
	}
	for _, flag := range needs {
		if cmd.Flags().Changed(flag) && o.source == "" && !asks {
			return usage(fmt.Errorf("--%s is for the job that init writes, which needs a source", flag), "add --source")
		}
	}
	return nil
}

// checkSource refuses what no command could open, also once it is there. Its errors do not
// repeat the source, which may hold a password.
func (o *jobOptions) checkSource(source string) error {
	if !utf8.ValidString(source) || strings.ContainsFunc(source, unicode.IsControl) {
		return errors.New("it has a control character, or is not UTF-8")
	}
	if table, ok := config.TableOf(source); ok {
		if table == "" {
			return errors.New("the path of the table is missing")
		}
		return nil
	}
	scheme, rest, ok := strings.Cut(source, "://")
	switch {
	case !ok:
		if info, err := os.Stat(source); err == nil && !info.IsDir() {
			return errors.New("that is a file and no folder; a table of files is table:FILE")
		}
		return nil
	case scheme == s3.Scheme:
		_, err := s3.ParseAddress(source)
		return err
	case scheme == ckbox.Scheme:
		_, err := config.ParseWorkspaceAddress(rest)
		return err
	case isConnector(source):
		_, err := ckfinder.ParseAddress(source)
		return err
	}
	return fmt.Errorf("there is no kind of source called %q", scheme)
}

// askJob asks for a job, with what the flags said as defaults.
func (d *dialogue) askJob(put func(why, prompt, initial string, take func(string) error)) {
	put("The source: a folder, a bucket such as s3://bucket/prefix, or a table such as\n"+
		"table:export.csv.", "Source", cmp.Or(d.job.source, "./photos"), d.setSource)
	put("Who may open the files? The category of a file decides: everybody who has the URL\n"+
		"can open a file in a public category. yes uploads only into private categories; a\n"+
		"file without one becomes a conflict and is not uploaded. The plan counts the files\n"+
		"that would be public.",
		"Private only", map[bool]string{true: "yes", false: "no"}[d.job.private], d.setPrivate)
	for i := range d.job.settings {
		s := &d.job.settings[i]
		if s.after != "" && d.job.settings[i-1].value != s.after {
			continue
		}
		put(s.why, s.prompt, s.value, func(value string) error {
			if allowed := values(flagname.Of(s.key)); allowed != nil {
				if err := config.CheckSetting(s.key, value); err != nil {
					return errors.New("one of " + strings.Join(allowed, ", "))
				}
			} else if err := config.CheckSetting(s.key, value); err != nil {
				return err
			}
			s.value = value
			return nil
		})
	}
}

func (d *dialogue) setSource(source string) error {
	if err := d.job.checkSource(source); err != nil {
		return err
	}
	if !config.IsAddress(source) && !strings.HasPrefix(source, "~/") {
		if info, err := os.Stat(source); err != nil || !info.IsDir() {
			fmt.Fprint(d.stderr, "  There is no such folder yet; it has to exist before the first run.\n")
		}
	}
	d.job.source = source
	return nil
}

func (d *dialogue) setPrivate(answer string) error {
	switch answer {
	case "yes", "y":
		d.job.private = true
	case "no", "n":
		d.job.private = false
	default:
		return errors.New("yes or no")
	}
	return nil
}

// saveJob puts the job into the file, if there is one.
func (d *dialogue) saveJob() error {
	o := d.job
	if o.source == "" {
		return nil
	}
	source, err := d.besideFile(o.source)
	if err != nil {
		return err
	}
	d.template.Job = &config.TemplateJob{Name: cmp.Or(o.name, jobName(o.source)), Source: source, Private: o.private}
	for i, s := range o.settings {
		if s.after == "" || o.settings[i-1].value == s.after {
			d.template.Job.Settings = append(d.template.Job.Settings, config.Setting{Key: s.key, Value: s.value})
		}
	}
	return nil
}

// besideFile is a source as the file has it: a relative path starts at the file's folder.
func (d *dialogue) besideFile(source string) (string, error) {
	prefix, path := "", source
	if table, ok := config.TableOf(source); ok {
		prefix, path = "table:", table
	} else if config.IsAddress(source) {
		return source, nil
	}
	folder := filepath.Dir(d.output)
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~/") || folder == "." || strings.Contains(path, "://") {
		return source, nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(folder, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	return prefix + path, nil
}

// jobName makes the name of a job from its source.
func jobName(source string) string {
	if path, ok := config.TableOf(source); ok {
		source = strings.TrimSuffix(path, filepath.Ext(path))
	}
	if full, err := filepath.Abs(source); err == nil && !config.IsAddress(source) {
		source = full
	}
	if name := strings.Trim(nameFor(strings.TrimRight(source, "/")), "_.-"); config.IsName(name) {
		return name
	}
	return "library"
}
