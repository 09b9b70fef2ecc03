package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assetferry/internal/config"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
)

// notRun reports whether this test does not run a block, and why.
func notRun(block string) (why string, ok bool) {
	why, ok = map[string]string{
		"go test ./...": "it runs this very test; .ci/run has it as a step",
		"go test ./internal/test/engine -run Sweep -sweep=all -timeout 60m\ngo test ./internal/cli -run Torture -torture 500 -seed 1 -timeout 60m -v":                                                                                                            "it takes long; the same tests run in their short form",
		"cd internal/test/s3server && ASSETFERRY_S3SERVER_OBJECTS=10000 go test -run Kill -v .":                                                                                                                                                                  "it takes long; .ci/run runs the tests of that module",
		"go test -tags rclone ./internal/test/rclone/...\nASSETFERRY_TEST_LISTED=100000 go test -tags rclone -run ListingSpeed -v ./internal/test/rclone\nASSETFERRY_TEST_RETRY_AFTER=120 go test -tags rclone -timeout 60m -v ./internal/test/rclone/ratelimit": "it needs other programs and takes long; .ci/run runs the tests of these packages, with fewer files and shorter waits",
		"ASSETFERRY_TEST_KILLS=200 go test -tags rclone -run KilledRuns -v ./internal/test/rclone":                                                                                                                                                               "it needs other programs and takes long; .ci/run runs it with fewer kills",
		"go test -tags wordpress ./internal/test/wordpress/...":                                                                                                                                                                                                  "it needs other programs; .ci/run runs the tests of these packages",
		"go run ./internal/test/bench":                       "it takes over an hour; the test of that package runs all of it with few objects",
		"go test ./internal/cli -run TestPictures -pictures": "it changes the repository; TestPictures without the flag does the rest",
	}[strings.TrimSpace(block)]
	return why, ok
}

// A section is a part of the README below a heading, with its sh blocks.
type section struct {
	heading string
	blocks  []string
}

func sections(readme string) []section {
	var all []section
	now := section{heading: "Introduction"}
	fence := regexp.MustCompile("^```sh$")
	var block []string
	inside := false
	for line := range strings.Lines(readme) {
		line = strings.TrimRight(line, "\n")
		switch {
		case !inside && strings.HasPrefix(line, "## "):
			all, now = append(all, now), section{heading: strings.TrimPrefix(line, "## ")}
		case !inside && fence.MatchString(line):
			inside, block = true, nil
		case inside && line == "```":
			inside = false
			now.blocks = append(now.blocks, strings.Join(block, "\n")+"\n")
		case inside:
			block = append(block, line)
		}
	}
	return append(all, now)
}

// TestReadme runs the commands of the README: with the built program on the PATH, a library in
// ./photos and in the bucket photos, AWS credentials, and a service in the environment. Commands
// that begin with go run in the repository. The blocks of a section share a shell.
func TestReadme(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := writeLibrary(filepath.Join(home, "photos")); err != nil {
		t.Fatal(err)
	}
	// Each command about it reports the damaged image with its own exit code.
	if err := os.Remove(filepath.Join(home, "photos", "photos", "2025", "broken.jpg")); err != nil {
		t.Fatal(err)
	}
	r := reader{root: root, home: home, bin: filepath.Join(home, "bin")}
	r.goEnv(t)
	b := startBucket(t, "photos")
	if err := b.putTree(filepath.Join(home, "photos")); err != nil {
		t.Fatal(err)
	}
	s := startService(t, sandbox.Options{})
	r.env = append(slices.Concat(r.env, s.variables(), startWords(t, s, aiservice.Options{}).variables(), b.variables()), "AWS_ACCESS_KEY_ID=reader", "AWS_SECRET_ACCESS_KEY=secret")
	linkProgram(t, filepath.Join(r.bin, "assetferry"))
	ran := 0
	for _, s := range sections(string(readme)) {
		ran += r.run(t, s)
	}
	if ran == 0 {
		t.Error("the README shows no command")
	}
}

// The test verifies that every command in CONTRIBUTING is tested.
func TestContributingCommands(t *testing.T) {
	text, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections(string(text)) {
		for _, block := range s.blocks {
			if _, ok := notRun(block); !ok {
				t.Errorf("%s: no test runs\n%s", s.heading, block)
			}
		}
	}
}

// The test verifies that the links of the README lead to files, and that no paragraph is long.
func TestReadmeForm(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(readme), -1)
	if len(links) < 10 {
		t.Errorf("%d links were found", len(links))
	}
	for _, m := range links {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Error(err)
		}
	}
	for paragraph := range strings.SplitSeq(string(readme), "\n\n") {
		if first := strings.TrimLeft(paragraph, "\n"); strings.HasPrefix(first, "```") || strings.HasPrefix(first, "|") || strings.HasPrefix(first, "- ") {
			continue
		}
		if n := strings.Count(paragraph, "\n") + 1; n > 5 {
			t.Errorf("a paragraph has %d lines:\n%s", n, paragraph)
		}
	}
}

// A reader runs the commands of the README.
type reader struct {
	root, home, bin string
	env             []string
}

// goEnv keeps the caches of Go, although HOME is another folder.
func (r *reader) goEnv(t *testing.T) {
	t.Helper()
	r.env = []string{"HOME=" + r.home, "XDG_STATE_HOME=" + r.home + "/state", "XDG_DATA_HOME=" + r.home + "/data", "GOBIN=" + r.bin,
		"PATH=" + r.bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "TMPDIR=" + r.home, "CGO_ENABLED=0"}
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN", "GONOSUMDB", "GOSUMDB"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.Split(string(out), "\n")
	for i, name := range names {
		r.env = append(r.env, name+"="+values[i])
	}
}

// run runs the blocks of a section and returns their number.
func (r *reader) run(t *testing.T, s section) (ran int) {
	t.Helper()
	var script strings.Builder
	for _, block := range s.blocks {
		if why, ok := notRun(block); ok {
			t.Logf("not run: %s(%s)", block, why)
			continue
		}
		ran++
		if strings.HasPrefix(block, "go ") {
			if out, err := r.shell(block, r.root); err != nil {
				t.Errorf("%s: %v\n%s\n%s", s.heading, err, block, out)
			}
			continue
		}
		fmt.Fprintf(&script, "cat <<'end of block' >&2\n--- %send of block\n%s", block, block)
	}
	if script.Len() == 0 {
		return ran
	}
	if out, err := r.shell(script.String(), r.home); err != nil {
		t.Errorf("%s: %v in the last of these blocks:\n%s", s.heading, err, out)
	}
	return ran
}

// shell runs a script and returns its output. The output goes to a file, because the script may
// start a sandbox that keeps running; shell stops it.
func (r *reader) shell(script, dir string) (string, error) {
	out, err := os.CreateTemp(r.home, "output-*")
	if err != nil {
		return "", err
	}
	defer out.Close()
	c := exec.Command("bash", "-eu", "-c", script)
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, r.env, out, out
	failure := c.Run()
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return "", err
	}
	for _, m := range regexp.MustCompile(`It is process (\d+);`).FindAllStringSubmatch(string(text), -1) {
		if pid, err := strconv.Atoi(m[1]); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // the process may have ended
			}
		}
	}
	return string(text), failure
}

// The test verifies that the configuration in the README can be read.
func TestReadmeConfiguration(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the README shows no configuration")
	}
	file := filepath.Join(t.TempDir(), "assetferry.yaml")
	if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := config.Load(map[string][]string{"config": {file}}, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Destination()
	if err != nil || d.URL != "https://api.ckbox.io" || d.AccessKey.IsZero() {
		t.Errorf("got destination %+v (%v)", d, err)
	}
}
