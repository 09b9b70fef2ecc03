package cmdline

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"assetferry/internal/pattern"
	"assetferry/internal/shell"
	"assetferry/internal/ui"
)

// ProgramName is the first word of commands that a person can paste: the plain name if PATH has it,
// the go run command if that built this program, or else the path of the program.
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

// PlainName is the name of this program.
const PlainName = "assetferry"

// goRun matches the path of a program that go run built: in its temporary folder, which go run
// deletes when the program ends, or in its cache.
var goRun = pattern.Lazy(`[/\\]go-build\d+[/\\]b\d+[/\\]exe[/\\]|[/\\][0-9a-f]{2}[/\\][0-9a-f]{64}-d[/\\]`)

// IsGoRun reports whether go run built the program with this path.
func IsGoRun(program string) bool { return goRun().MatchString(program) }

// GoRunSource returns the argument of go run for this program, in the folder of the repository or
// below it; ok is false elsewhere.
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

// inSentence matches the name of this program at the start of a command in a sentence.
var inSentence = pattern.Lazy(`(?m)(^|[\s("'])assetferry (adopt|ai|apply|assets|certificate|completion|demo|doctor|enrich|explain|export|help|init|man|migrate|permissions|plan|` +
	`rehearse|report|rewrite|runs|sandbox|schedule|state|status|sync|undo|urls|verify|version)\b`)

// Callable replaces the name of this program in the commands of a hint by ProgramName. All notes
// and hints pass through it. Help topics and reports keep the plain name, because others read them
// elsewhere.
func Callable(text string) string { return WithProgram(text, ProgramName()) }

// WithProgram replaces the name of this program in the commands of a text.
func WithProgram(text, name string) string {
	if name == PlainName || !strings.Contains(text, "assetferry ") {
		return text
	}
	return inSentence().ReplaceAllString(text, "${1}"+strings.ReplaceAll(name, "$", "$$")+" ${2}")
}

// Version returns the version of this program.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// ThisProgram returns the path of this program as it was called, which may be a link to a later
// version one day.
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
