package cmdline

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"

	"assetferry/internal/shell"
	"assetferry/internal/ui"
)

// ProgramName is what a command begins with that a person can paste where this one was
// called: the plain name if the PATH has it, what go run takes if that built this program,
// and else the path of the program.
var ProgramName = sync.OnceValue(func() string {
	if _, err := exec.LookPath(PlainName); err == nil {
		return PlainName
	}
	program, err := ThisProgram()
	if err != nil {
		return PlainName
	}
	if IsGoRun(program) {
		if source, ok := GoRunSource(); ok {
			return "go run " + source
		}
	}
	return ui.Sanitize(shell.Word(program))
})

// PlainName is what this program is called.
const PlainName = "assetferry"

// goRun is in the path of a program that go run built: in its folder for temporary files,
// which is gone when the program ends, or in its cache.
var goRun = regexp.MustCompile(`[/\\]go-build\d+[/\\]b\d+[/\\]exe[/\\]|[/\\][0-9a-f]{2}[/\\][0-9a-f]{64}-d[/\\]`)

// IsGoRun reports whether go run built a program, by its path.
func IsGoRun(program string) bool { return goRun.MatchString(program) }

// GoRunSource is what go run takes to run this program from its source, in the folder of the
// repository or below it; ok is false elsewhere.
func GoRunSource() (source string, ok bool) {
	if _, err := os.Stat(filepath.Join("cmd", "assetferry", "main.go")); err == nil {
		return "./cmd/assetferry", true
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", false
	}
	info, known := debug.ReadBuildInfo()
	for ; known && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "cmd", "assetferry", "main.go")); err == nil {
			return info.Path, true
		}
	}
	return "", false
}

// inSentence matches the name of this program where it begins a command in a sentence.
var inSentence = regexp.MustCompile(`(?m)(^|[\s("'])assetferry (adopt|ai|apply|assets|completion|demo|doctor|enrich|explain|export|help|init|man|migrate|plan|` +
	`report|rewrite|runs|sandbox|schedule|state|status|sync|undo|urls|verify|version)\b`)

// Callable has the commands in a hint begin with what runs this program here. Every note and
// hint goes through it, so that none has to think of it; texts of help topics and reports,
// which others read elsewhere, keep the plain name.
func Callable(text string) string { return WithProgram(text, ProgramName()) }

// WithProgram has the commands in a text begin with a name instead.
func WithProgram(text, name string) string {
	if name == PlainName || !strings.Contains(text, "assetferry ") {
		return text
	}
	return inSentence.ReplaceAllString(text, "${1}"+strings.ReplaceAll(name, "$", "$$")+" ${2}")
}

// Version is the version of this program.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// ThisProgram is the path of this program as it was called, which may be a link that leads
// to a new version one day.
func ThisProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return program, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return program, nil
	}
	if there, err := os.Stat(called); err == nil {
		if here, err := os.Stat(program); err == nil && os.SameFile(here, there) {
			return called, nil
		}
	}
	return program, nil
}
