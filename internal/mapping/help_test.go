package mapping

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// topic is the help topic about rules, which the commands show.
const topic = "../cli/help/mapping.txt"

// sourcesTopic is the help topic that describes the templates.
const sourcesTopic = "../cli/help/sources.txt"

// TestTopicDescribesTemplates verifies that the topic about sources describes every template.
func TestTopicDescribesTemplates(t *testing.T) {
	data, err := os.ReadFile(sourcesTopic)
	if err != nil {
		t.Fatal(err)
	}
	_, templates, _ := strings.Cut(string(data), "\nTemplates\n")
	for _, name := range TemplateNames() {
		if !regexp.MustCompile(`(?m)^    ` + name + ` {3,}\S`).MatchString(templates) {
			t.Errorf("help sources does not describe the template %s", name)
		}
	}
}

// TestTopic verifies that the topic names every key, name and template, and that its examples work.
func TestTopic(t *testing.T) {
	data, err := os.ReadFile(topic)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	places := placingWords()
	keys := append(places[:], "when", "skip", wordDescription, wordTags, "split_tags", "rename_tags", "drop_tags", "add_tags", "attributes", "drop_attributes", "defaults", "columns", "rules", "use")
	for _, name := range append(append(keys, Names()...), TemplateNames()...) {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			t.Errorf("%s is not told", name)
		}
	}
	_, common, _ := strings.Cut(text, "\nCommon rules\n")
	common, _, _ = strings.Cut(common, "\nColumns and templates\n")
	rules := ""
	for line := range strings.Lines(common) {
		if strings.HasPrefix(line, "      ") {
			rules += line
		}
	}
	r, err := parse("rules:\n" + rules)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.rules) < 6 {
		t.Errorf("only %d common rules", len(r.rules))
	}
	if _, _, err := New(r, Options{}).Describe(harbour()); err != nil {
		t.Error(err)
	}
}
