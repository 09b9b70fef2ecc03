package config

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Template is a new configuration file: the known settings, and all others as comments with
// their default or an example.
//
// A comment for people begins with "# ". A setting in a comment begins with "#" alone, so that the
// line is valid once the "#" is removed.
type Template struct {
	To          string            // the sandbox or a destination; "" if undecided
	Destination Named             // the known settings of a named destination
	Set         map[string]string // values of other settings, by key
	Job         *TemplateJob      // nil: an example of one
	Meaning     func(flag string) string
}

// A TemplateJob is a job of a template.
type TemplateJob struct {
	Name, Source string
	Settings     []Setting
	Private      bool // a rule has all files be private
}

// A Setting is a key with its value.
type Setting struct{ Key, Value string }

// TemplateName is the name of the destination of a template.
const TemplateName = "production"

const templateHead = `Settings of assetferry. Precedence: flag, environment variable, job in this file, rest
of this file, preset, default. "assetferry doctor" shows every setting in effect and
its source. A mistake in this file is an error with its line.

A line that begins with "#" and no space is a setting that is not in effect, with its
default or an example. Remove the "#" to use it.`

const templateKey = `Never write the access key itself here. Use one of: access_key_env (name of a
variable), access_key_file (a file that only you can read), access_key_command (a
program that prints it, such as "pass show assetferry"), or token_command (a program
that prints a token).`

const templateMapping = `Rules, in order, for category, folder, name, private, description, tags and
attributes. "assetferry help mapping" explains them. "assetferry plan SOURCE
--explain-mapping KEY" shows the result for one object.`

const templateOldURLs = `Old URLs of objects, for "assetferry urls" and "assetferry rewrite": templates that
build a URL from the key, with image widths if there were several. "assetferry help
redirects" lists the placeholders.`

const templateWaves = `Waves: parts of a source that are migrated one after the other, each with its own
plan, approval and report. --wave NAME chooses one. "assetferry help cutover" explains
them.`

const templateJobs = `Jobs by name. Each has a source, and settings that differ from those above. A relative
path starts at the folder of this file. Without a source and --job NAME, "assetferry
migrate", "sync", "plan", "doctor", "verify", "report" and "schedule" use default_job,
or the only job.`

const templatePrivate = `Upload only to private categories. A file without one is a conflict.`

// meaningOf explains the keys of a destination that are no settings of their own.
func meaningOf(key string) string {
	return map[string]string{
		"url":              "URL of the service: https://api.ckbox.io, or that of your own installation.",
		"environment":      "ID of the environment, from the page that creates its access keys.",
		"require_approval": "Require an approver's signature for changes. approvers_file lists the approvers (OpenSSH allowed_signers); see assetferry help security.",
		"workspace":        "These settings hold for this destination only, and beat the settings of the same name below.",
	}[key]
}

// Encode returns the file.
func (t Template) Encode() []byte {
	d := draft{}
	d.prose("", templateHead)
	d.blank()
	for _, r := range new(Settings).table() {
		d.prose("", capitalize(t.Meaning(r.flag())))
		if r.key == "preset" {
			d.presets()
		}
		value, known := t.value(r.key)
		d.setting("", r, cmp.Or(value, r.initial, r.example, "false"), known)
		d.blank()
		if r.key == "to" {
			t.encodeDestination(&d)
			d.blank()
		}
	}
	t.encodeMapping(&d)
	d.blank()
	t.encodeOldURLs(&d)
	d.blank()
	t.encodeWaves(&d)
	d.blank()
	t.encodeJobs(&d)
	return []byte(d.String())
}

// encodeMapping writes an example of rules.
func (t Template) encodeMapping(d *draft) {
	d.prose("", templateMapping)
	d.line(false, "", "mapping:")
	d.line(false, "  ", "rules:")
	d.line(false, "    ", `- when: folder startsWith "archive/" and created != ""`)
	d.line(false, "      ", `folder: archive/${ date(created, "YYYY/MM") }`)
	d.line(false, "      ", "add_tags: archive")
}

// encodeOldURLs writes an example of templates.
func (t Template) encodeOldURLs(d *draft) {
	d.prose("", templateOldURLs)
	d.line(false, "", "old_urls:")
	d.line(false, "  ", "- https://cdn.example.com/${path}")
	d.line(false, "  ", "- url: https://cdn.example.com/w_${width}/${path}")
	d.line(false, "    ", "widths: [320, 640, 1280]")
}

// encodeWaves writes an example of waves.
func (t Template) encodeWaves(d *draft) {
	d.prose("", templateWaves)
	d.line(false, "", "waves:")
	d.line(false, "  ", "- name: press")
	d.line(false, "    ", "folders: [press, events/press]")
	d.line(false, "    ", "freeze: 2026-12-04T18:00:00+01:00")
	d.line(false, "  ", "- name: shop")
	d.line(false, "    ", "folders: [shop]")
	d.line(false, "    ", "exclude: ["+quote("**/*.psd")+"]")
}

// encodeJobs writes the job, or an example of one.
func (t Template) encodeJobs(d *draft) {
	d.prose("", templateJobs)
	j := t.Job
	if j == nil {
		d.line(false, "", "default_job: photos")
		d.line(false, "", "jobs:")
		d.line(false, "  ", "photos:")
		d.line(false, "    ", "source: ./photos")
		d.line(false, "    ", "exclude: ["+quote("drafts/**")+"]")
		return
	}
	d.line(false, "", "default_job: "+quote(j.Name))
	d.line(true, "", "jobs:")
	d.line(true, "  ", quote(j.Name)+":")
	d.line(true, "    ", "source: "+quote(j.Source))
	rows := new(Settings).table()
	for _, s := range j.Settings {
		at := slices.IndexFunc(rows, func(r row) bool { return r.key == s.Key })
		d.prose("    ", capitalize(t.Meaning(rows[at].flag())))
		d.setting("    ", rows[at], s.Value, true)
	}
	if j.Private {
		d.prose("    ", templatePrivate)
		d.line(true, "    ", "mapping:")
		d.line(true, "      ", "rules:")
		d.line(true, "        ", "- private: true")
	}
}

// value returns the value of a key; known is false if it stays a comment.
func (t Template) value(key string) (value string, known bool) {
	if key == "to" {
		return cmp.Or(t.To, TemplateName), t.To != ""
	}
	value, known = t.Set[key]
	return value, known
}

// encodeDestination writes the named destination. It is a comment until its URL is known.
func (t Template) encodeDestination(d *draft) {
	n := t.Destination
	counts := n.URL != ""
	if n.credential() == "" {
		n.AccessKeyEnv = accessKey
	}
	d.prose("", "Destinations by name, for --to.")
	d.line(counts, "", "destinations:")
	d.line(counts, "  ", TemplateName+":")
	for _, r := range n.table() {
		known := n.get(r.key)
		switch {
		case r.key == n.credential():
			d.prose("    ", templateKey)
		case strings.HasPrefix(r.key, "access_key"), r.key == "token_command":
			continue // the text names them: only one can be there
		}
		if meaning := meaningOf(r.key); meaning != "" {
			d.prose("    ", meaning)
		}
		d.setting("    ", r, cmp.Or(known, r.initial, r.example), counts && known != "")
	}
}

// credential returns the key with the credentials of the destination.
func (n *Named) credential() string {
	for key, value := range n.credentialKeys() {
		if value != "" {
			return key
		}
	}
	return ""
}

// get returns the value of a key.
func (n *Named) get(key string) string {
	if value, ok := n.credentialKeys()[key]; ok {
		return value
	}
	return map[string]string{"url": n.URL, "environment": n.Environment, "workspace": n.Workspace,
		"service": n.Service, "user": n.User, "ca_file": n.CAFile, "service_profile": n.ServiceProfile,
		"approvers_file": n.ApproversFile, "require_approval": yesOrNothing(n.RequireApproval)}[key]
}

func yesOrNothing(yes bool) string {
	if yes {
		return "true"
	}
	return ""
}

// CheckSetting is an error for a value that a setting cannot have in the file.
func CheckSetting(key, value string) error {
	for _, r := range new(Settings).table() {
		if r.key == key {
			return r.set([]string{value})
		}
	}
	return fmt.Errorf("there is no setting %q", key)
}

// IsName reports whether a job or a destination can have this name.
func IsName(name string) bool { return isName(name) }

// NameFor derives a part of a name from a source.
func NameFor(source string) string {
	const longest = 64
	base := path.Base(filepath.ToSlash(source))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, base)
	return name[:min(len(name), longest)]
}

// Put checks and stores the value of a key as if it were in the file.
func (n *Named) Put(key, value string) error {
	for _, r := range n.table() {
		if r.key == key {
			return r.set([]string{value})
		}
	}
	return fmt.Errorf("there is no key %q", key)
}

// A draft is YAML that is being written.
type draft struct{ strings.Builder }

func (d *draft) blank() { d.WriteByte('\n') }

// line writes a line of YAML, or a comment of it.
func (d *draft) line(counts bool, indent, text string) {
	if !counts {
		indent += "#"
	}
	d.WriteString(indent + text + "\n")
}

// setting writes a key and its value.
func (d *draft) setting(indent string, r row, value string, counts bool) {
	switch {
	case r.list:
		values := strings.Split(value, ",")
		for i, v := range values {
			values[i] = quote(v)
		}
		value = "[" + strings.Join(values, ", ") + "]"
	case !r.yesNo:
		value = quote(value)
	}
	d.line(counts, indent, r.key+": "+value)
}

// presets lists the presets with their settings.
func (d *draft) presets() {
	for _, p := range Presets() {
		var settings []string
		for _, s := range p.Settings {
			settings = append(settings, s.Key+": "+s.Value)
		}
		d.prose("", p.Name+": "+strings.Join(settings, ", "))
	}
}

// prose writes paragraphs as comments of at most 80 columns.
func (d *draft) prose(indent, text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			d.WriteString(indent + "#\n")
		}
		for line := range strings.Lines(wrap(paragraph, 78-len(indent))) {
			d.WriteString(indent + "# " + strings.TrimSpace(line) + "\n")
		}
	}
}

// wrap breaks text between words.
func wrap(text string, columns int) string {
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		switch n := utf8.RuneCountInString(word); {
		case used == 0:
			used = n
		case used+1+n > columns:
			b.WriteByte('\n')
			used = n
		default:
			b.WriteByte(' ')
			used += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

func capitalize(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

// quote writes a value that YAML reads as the same text. Only these characters are special between
// single quotes, and values have no control characters.
func quote(value string) string {
	plain := regexp.MustCompile(`^([A-Za-z/.][\w./-]*( [\w./-]+)*|https?://[\w.:/-]*[\w/-]|\d{1,9}[a-z]?)$`)
	word := regexp.MustCompile(`(?i)^(true|false|y|n|yes|no|on|off|null|\.nan|\.?inf)$`)
	if plain.MatchString(value) && !word.MatchString(value) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}
