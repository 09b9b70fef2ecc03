package cli

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/cli/command"
)

func pagesOf(t *testing.T, date string) map[string]string {
	t.Helper()
	f := command.New(command.Environment{Stdout: io.Discard, Stderr: io.Discard}, false)
	return manPages(rootCommand(f), date)
}

// The test verifies that every command and every topic has a page of the correct form.
func TestManPages(t *testing.T) {
	pages := pagesOf(t, "2026-11-21")
	for _, c := range allCommands(t) {
		page := pages[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"]
		for _, heading := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"} {
			if strings.Count(page, "\n.SH \""+heading+"\"\n") != 1 {
				t.Errorf("%s: no %s, or several", c.CommandPath(), heading)
			}
		}
		if _, codes, _ := strings.Cut(page, "\n.SH \"EXIT STATUS\"\n"); !strings.HasPrefix(codes, ".TP\n\\fB0\\fR\nsuccess\n.TP\n") {
			t.Errorf("%s: exit codes are missing", c.CommandPath())
		}
	}
	for name := range helpTopics(t) {
		if page := pages["assetferry-"+name+".7"]; !strings.HasPrefix(page, `.TH "ASSETFERRY\-`+strings.ReplaceAll(strings.ToUpper(name), "-", `\-`)+`" "7" "2026\-11\-21" `) {
			t.Errorf("%s: %.60q", name, page)
		}
	}
}

// The test verifies that man on this machine renders the pages without a warning and without loss
// of text.
func TestManPagesAsShown(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("needs groff")
	}
	dir := t.TempDir()
	pages := pagesOf(t, "")
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(pages[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		groff := exec.Command("groff", "-man", "-Tutf8", "-ww", "-P-cbou", path)
		groff.Stderr = &stderr
		shown, err := groff.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("%s: %v\n%s", name, err, stderr.String())
		}
		for line := range strings.Lines(string(shown)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		topic, isTopic := strings.CutSuffix(strings.TrimPrefix(name, "assetferry-"), ".7")
		if _, body, _ := strings.Cut(helpTopics(t)[topic], "\n\n"); isTopic && !strings.Contains(string(shown), strings.TrimSpace(body)) {
			t.Errorf("%s is not shown as it is written:\n%s", name, shown)
		}
	}
}
