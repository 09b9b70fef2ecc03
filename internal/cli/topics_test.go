package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandsOf returns the command lines in a text: the lines after "$ ", with their continuation
// lines after "\", "|" or "||".
func commandsOf(text string) (commands []string) {
	continued := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, command)
		} else if !continued {
			continue
		} else {
			commands[len(commands)-1] += "\n" + line
		}
		continued = strings.HasSuffix(line, "\\") || strings.HasSuffix(line, "|")
	}
	return commands
}

// helpTopics returns the texts of the topics by name.
func helpTopics(t *testing.T) map[string]string {
	t.Helper()
	entries, err := helpTexts.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	topics := map[string]string{}
	for _, e := range entries {
		text, err := helpTexts.ReadFile("help/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		topics[strings.TrimSuffix(e.Name(), ".txt")] = string(text)
	}
	return topics
}

// allCommands returns all commands, without topics.
func allCommands(t *testing.T) (commands []*cobra.Command) {
	t.Helper()
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		if !isTopic(c) {
			commands = append(commands, c)
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	f := command.New(command.Environment{Stdout: os.Stdout, Stderr: os.Stderr}, false)
	add(rootCommand(f))
	return commands
}

// topicReader returns a reader with the requirements of topics: a library in ./photos, in the
// bucket photos, behind a connector and in a WordPress site, a service in the environment, and the program on the PATH.
func topicReader(t *testing.T) *reader {
	t.Helper()
	if err := shipped(); err != nil {
		t.Fatal(err)
	}
	r := &reader{home: t.TempDir()}
	library := filepath.Join(r.home, "photos")
	if err := writeLibrary(library); err != nil {
		t.Fatal(err)
	}
	b := startBucket(t, "photos")
	if err := b.putTree(library); err != nil {
		t.Fatal(err)
	}
	service := startService(t, sandbox.Options{})
	r.env = slices.Concat(service.variables(), startWords(t, service, aiservice.Options{}).variables(), b.variables(), []string{
		"AWS_ACCESS_KEY_ID=reader", "AWS_SECRET_ACCESS_KEY=secret", "HOME=" + r.home, "XDG_STATE_HOME=" + r.home + "/state",
		"TZ=" + noonZone(), "CONNECTOR=" + startConnector(t, library, "3f8a09c1b2d4").URL, "SITE=" + startWordPress(t, library), "XDG_DATA_HOME=" + r.home + "/data", "TMPDIR=" + r.home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0",
	})
	return r
}

// noonZone returns a time zone in which it is about noon, far from the times at which runs in
// examples end.
func noonZone() string { return fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) }

// quietLoopback returns a loopback address of this machine, a different one for each n from 2 to
// 254 if the system supports them. On 127.0.0.1 another test may take a port that was just free.
func quietLoopback(n int) string {
	if runtime.GOOS != "linux" {
		n = 1
	}
	return fmt.Sprintf("127.0.0.%d", n)
}

// follow runs commands in sequence in one shell.
func (r *reader) follow(t *testing.T, commands []string) {
	t.Helper()
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "cat <<'end of command' >&2\n--- %s\nend of command\n%s\n", c, c)
	}
	if out, err := r.shell(script.String(), r.home); err != nil {
		t.Errorf("%v in the last of these commands:\n%s", err, out)
	}
}

// beforeTopic returns the commands that run before those of a topic.
func beforeTopic(name string) []string {
	return map[string][]string{
		"redirects": {`printf 'old_urls:\n  - https://cdn.example.com/${path}\n  - {url: "https://cdn.example.com/w_${width}/${path}", widths: [320, 640, 1280]}\n' > assetferry.yaml`,
			"assetferry migrate ./photos --unsupported skip"},
		"state": {"assetferry migrate ./photos --unsupported skip --limit 5 --state state.db"},
		"ckbox": {`printf 'destinations:\n  production:\n    url: %s\n    environment: %s\n    access_key_env: ASSETFERRY_ACCESS_KEY\n' "$ASSETFERRY_URL" "$ASSETFERRY_ENVIRONMENT_ID" > assetferry.yaml`,
			"assetferry migrate ./photos --unsupported skip"},
		"ckfinder":  {`printf 'jobs:\n  cms:\n    source: ckfinder+%s\n' "$CONNECTOR" > assetferry.yaml`},
		"wordpress": {`printf 'jobs:\n  site:\n    source: wordpress+%s\n    mapping: {rules: [{use: wordpress}]}\n' "$SITE" > assetferry.yaml`},
		"rewrite": {"assetferry migrate ./photos --unsupported skip", "mkdir content",
			`echo '<img src="https://old.example.com/files/2024/harbour/harbour-01.jpg">' | tee content/index.html > blog.sql`},
		"evidence": {"rm photos/photos/2025/broken.jpg", "assetferry migrate ./photos --unsupported create"},
		"schedule": {`printf 'unsupported: skip\njobs:\n  daily:\n    source: ./photos\n' > assetferry.yaml`},
	}[name]
}

// beforeExamples returns the commands that run before the examples of a command: a run, whose ID
// replaces those in the examples, and the setup that only these examples need.
func beforeExamples(examples string) []string {
	before := []string{
		"mkdir -p photos/2024/spring site", "cp photos/photos/2024/harbour/harbour-01.jpg photos/2024/spring/harbour.jpg",
		"rm photos/photos/2025/broken.jpg", "cp photos/2024/spring/harbour.jpg photo.jpg", // the AI can describe all remaining images
		"echo '<img src=harbour.jpg>' > site/index.html", `echo '[{"domain":"https://example.com","headers":{"authorization":"Bearer x"}}]' > headers.json`, "printf 'id,decision\n' > decisions.csv",
		"assetferry migrate ./photos --unsupported skip --json > before.jsonl",
		`RUN=$(tail -1 before.jsonl | sed -E 's/.*"run":"([^"]+)".*/\1/')`,
		"mkdir content", `echo '<img src="https://old.example.com/files/2024/spring/harbour.jpg">' | tee content/index.html > blog.sql`,
		"echo 'Write alt texts in plain words.' | tee alt.txt > glossary.md",
	}
	if strings.Contains(examples, "state forget") {
		sync := "assetferry sync ./photos --unsupported skip --delete trash --grace-period 0s"
		before = append(before, "rm photos/2024/spring/harbour.jpg", sync, sync)
	}
	if strings.Contains(examples, "urls.tsv") {
		before = append(before, "assetferry urls --old-prefix https://old.example.com/files/ > urls.tsv")
	}
	if strings.Contains(examples, "profile.yaml") {
		before = append(before, `printf 'version: 1\nlatency: 10ms\n' > profile.yaml`)
	}
	if strings.Contains(examples, "rights.csv") {
		before = append(before, `printf 'group;category;asset:create\neditors;Images;x\n' > rights.csv`,
			`printf 'destinations:\n  production:\n    url: %s\n    environment: %s\n    access_key_env: ASSETFERRY_ACCESS_KEY\n' "$ASSETFERRY_URL" "$ASSETFERRY_ENVIRONMENT_ID" > assetferry.yaml`)
	}
	if strings.Contains(examples, "house-style") {
		before = append(before, "assetferry ai contexts create 'House style' --prompt alt=@alt.txt --file glossary.md > style.txt",
			`STYLE=$(sed -nE 's/^Context +([^ ]+).*/\1/p' style.txt) PROMPT=$(sed -nE 's/^Prompt +([^ ]+).*/\1/p' style.txt) FILE=$(sed -nE 's/^File +([^ ]+).*/\1/p' style.txt)`)
	}
	return before
}

// exampleIDs replaces the IDs in the examples by those of the existing context and backup.
var exampleIDs = strings.NewReplacer("--restore DIR", `--restore "$(ls -d state/assetferry/backups/* | head -n 1)"`, "house-style/prompt/alt", `"$STYLE/prompt/$PROMPT"`, "house-style/file/glossary", `"$STYLE/file/$FILE"`, "house-style", `"$STYLE"`)

// The test runs the commands of topics: all topics in the long form, and otherwise a quarter of
// them.
func TestTopics(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	random := seedtest.Rand(t)
	for name, text := range helpTopics(t) {
		if !longtest.Takes(random, 4) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if commands := commandsOf(text); len(commands) > 0 {
				if strings.Contains(text, "eval ") { // the service is a sandbox
					commands = append(commands, "assetferry sandbox stop")
				}
				topicReader(t).follow(t, append(beforeTopic(name), commands...))
			}
		})
	}
}

// The test runs the examples in the help of commands, with one shell per command: all commands in
// the long form, and otherwise a quarter of them.
func TestExamples(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	random := seedtest.Rand(t)
	for _, c := range allCommands(t) {
		if !c.HasExample() || !longtest.Takes(random, 4) {
			continue
		}
		t.Run(strings.ReplaceAll(c.CommandPath(), " ", "_"), func(t *testing.T) {
			t.Parallel()
			commands := beforeExamples(c.Example)
			if strings.HasPrefix(c.CommandPath(), "assetferry sandbox ") { // each of these needs its own sandbox
				commands = append(commands, `eval "$(assetferry sandbox --data trial &)"`)
			}
			for line := range strings.Lines(c.Example) {
				commands = append(commands, exampleIDs.Replace(runID.ReplaceAllLiteralString(strings.TrimSpace(line), `"$RUN"`)))
			}
			if strings.HasPrefix(c.CommandPath(), "assetferry sandbox ") {
				commands = append(commands, "assetferry sandbox stop")
			}
			topicReader(t).follow(t, commands)
		})
	}
}

// The test verifies that every command, topic and flag that a text mentions exists.
func TestTextsNameWhatThereIs(t *testing.T) {
	texts := helpTopics(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	texts["README"] = string(readme)
	known := map[string]bool{}
	for name := range helpTopics(t) {
		known["help "+name] = true
	}
	for _, c := range allCommands(t) {
		path := strings.TrimPrefix(c.CommandPath(), "assetferry ")
		known[path], known["help "+path] = true, true
		if !strings.HasPrefix(path, "completion") { // cobra writes their texts
			texts["help of "+c.CommandPath()] = c.Long
		}
	}
	flags := map[string]bool{}
	for _, c := range allCommands(t) {
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	prose := []string{"moves", "probe", "itself"} // words that may follow the name in a sentence
	mention := regexp.MustCompile(`\bassetferry ((?:help|state|assets|completion) [a-z0-9-]+|[a-z]+)\b`)
	wpCLI := regexp.MustCompile(`(?m)^ +wp .*$`) // its flags are not ours
	for name, text := range texts {
		text = wpCLI.ReplaceAllString(text, "")
		for _, m := range mention.FindAllStringSubmatch(text, -1) {
			if called := strings.Fields(m[0])[1]; !known[m[1]] && !known[called] && !slices.Contains(prose, called) {
				t.Errorf("%s: there is no %q", name, m[0])
			} else if called == "help" && !known[m[1]] {
				t.Errorf("%s: there is no topic %q", name, m[0])
			}
		}
		for _, m := range regexp.MustCompile(`(?:^|[\s"'(])--([a-z][a-z0-9-]+)`).FindAllStringSubmatch(text, -1) {
			if !flags[m[1]] {
				t.Errorf("%s: no command has --%s", name, m[1])
			}
		}
	}
}

// The test verifies the form of topics: the first line is a title, and all lines fit on a terminal.
func TestTopicsFit(t *testing.T) {
	for name, text := range helpTopics(t) {
		if about, _, ok := strings.Cut(text, "\n\n"); !ok || strings.Contains(about, "\n") || strings.HasSuffix(about, ".") {
			t.Errorf("%s: the first line does not stand alone", name)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > 80 || strings.ContainsAny(line, "\t") || line != strings.TrimRight(line, " ") {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}
