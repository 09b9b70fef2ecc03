package wizard

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"assetferry/internal/config"
)

// A Job is the treatment of the files of a source.
type Job struct {
	Name, Source string
	Private      bool
	Settings     []JobSetting
}

// A JobSetting is a setting with a question. Its default never deletes or replaces anything, and
// stops where a person must decide.
type JobSetting struct {
	Key   string
	Value string // the default, or the answer

	prompt, why string
	after       string // asked only if the previous setting has this value
}

func jobSettings() []JobSetting {
	return []JobSetting{
		{Key: "on_existing", prompt: "Existing name", Value: "conflict",
			why: "If the destination already has another file with the same name: conflict uploads\n" +
				"nothing and reports it, adopt matches the file if its size is equal, create uploads\n" +
				"next to it. Identical files are always matched."},
		{Key: "on_collision", prompt: "Names that differ only in case", Value: "rename",
			why: "If two files of the source have names that differ only in case, such as A.jpg and\n" +
				"a.jpg: rename adds a suffix to the second, keep uploads both as they are,\n" +
				"conflict reports the second and does not upload it."},
		{Key: "delete", prompt: "Deletions", Value: "never",
			why: "If a file is deleted at the source: never keeps its asset and reports it, trash\n" +
				"moves the asset to the trash of the service after a grace period. Only sync does\n" +
				"that."},
		{Key: "grace_period", prompt: "Grace period", Value: "20h", after: "trash",
			why: "The grace period: a file has to be missing for this time, and in two runs, before\n" +
				"its asset is moved to the trash. Such as 20h or 7d."},
		{Key: "unsupported", prompt: "Unsupported file types", Value: "stop",
			why: "If no category accepts a file type: stop lists the types before anything is\n" +
				"uploaded, skip skips these files, create creates a category for them."},
	}
}

// CheckSource refuses a source that no command can open, even if it does not exist yet. Its errors
// never contain the source, which may contain a password.
func (w *Wizard) CheckSource(source string) error {
	if !utf8.ValidString(source) || strings.ContainsFunc(source, unicode.IsControl) {
		return errors.New("the source has a control character or is not UTF-8")
	}
	if table, ok := config.TableOf(source); ok {
		if table == "" {
			return errors.New("the path of the table is missing")
		}
		return nil
	}
	if strings.Contains(source, "://") {
		return w.checkURL(source)
	}
	if info, err := os.Stat(source); err == nil && !info.IsDir() {
		return errors.New("the source is a file, not a folder; write table:FILE for a table of files")
	}
	return nil
}

// askJob asks for a job. The flags are the defaults.
func (w *Wizard) askJob(put func(why, prompt, initial string, take func(string) error)) {
	put("The source: a folder, a bucket such as s3://bucket/prefix, or a table such as\n"+
		"table:export.csv.", "Source", cmp.Or(w.Job.Source, "./photos"), w.setSource)
	put("The category of a file decides who may open it. Anyone with the URL can open a\n"+
		"file in a public category. yes uploads only into private categories; a file without\n"+
		"one becomes a conflict and is not uploaded. The plan counts the files that would be\n"+
		"public.",
		"Private only", map[bool]string{true: "yes", false: "no"}[w.Job.Private], w.setPrivate)
	for i := range w.Job.Settings {
		s := &w.Job.Settings[i]
		if s.after != "" && w.Job.Settings[i-1].Value != s.after {
			continue
		}
		put(s.why, s.prompt, s.Value, func(value string) error {
			if allowed := valuesOf(s.Key); allowed != nil {
				if err := config.CheckSetting(s.Key, value); err != nil {
					return errors.New("one of " + strings.Join(allowed, ", "))
				}
			} else if err := config.CheckSetting(s.Key, value); err != nil {
				return err
			}
			s.Value = value
			return nil
		})
	}
}

func (w *Wizard) setSource(source string) error {
	if err := w.CheckSource(source); err != nil {
		return err
	}
	if !config.IsURL(source) && !strings.HasPrefix(source, "~/") {
		if info, err := os.Stat(source); err != nil || !info.IsDir() {
			fmt.Fprint(w.screen, "  There is no such folder yet; it has to exist before the first run.\n")
		}
	}
	w.Job.Source = source
	return nil
}

func (w *Wizard) setPrivate(answer string) error {
	switch answer {
	case "yes", "y":
		w.Job.Private = true
	case "no", "n":
		w.Job.Private = false
	default:
		return errors.New("answer yes or no")
	}
	return nil
}

// saveJob adds the job to the file, if there is one.
func (w *Wizard) saveJob() error {
	o := w.Job
	if o.Source == "" {
		return nil
	}
	source, err := w.besideFile(o.Source)
	if err != nil {
		return err
	}
	w.Template.Job = &config.TemplateJob{Name: cmp.Or(o.Name, jobName(o.Source)), Source: source, Private: o.Private}
	for i, s := range o.Settings {
		if s.after == "" || o.Settings[i-1].Value == s.after {
			w.Template.Job.Settings = append(w.Template.Job.Settings, config.Setting{Key: s.Key, Value: s.Value})
		}
	}
	return nil
}

// besideFile returns a source for the file, where a relative path starts at the folder of the file.
func (w *Wizard) besideFile(source string) (string, error) {
	prefix, path := "", source
	if table, ok := config.TableOf(source); ok {
		prefix, path = "table:", table
	} else if config.IsURL(source) {
		return source, nil
	}
	folder := filepath.Dir(w.output)
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
	if full, err := filepath.Abs(source); err == nil && !config.IsURL(source) {
		source = full
	}
	if name := strings.Trim(config.NameFor(strings.TrimRight(source, "/")), "_.-"); config.IsName(name) {
		return name
	}
	return "library"
}

// valuesOf returns the values of a setting with a choice.
func valuesOf(key string) []string {
	for _, k := range config.Keys() {
		if k.Name == key {
			return k.Values
		}
	}
	return nil
}
