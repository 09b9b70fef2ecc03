package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"

	"assetferry/internal/ui"
)

// programName is what a command begins with that a person can paste where this one was
// called: the plain name if the PATH has it, what go run takes if that built this program,
// and else the path of the program.
var programName = sync.OnceValue(func() string {
	if _, err := exec.LookPath(plainName); err == nil {
		return plainName
	}
	program, err := thisProgram()
	if err != nil {
		return plainName
	}
	if isGoRun(program) {
		if source, ok := goRunSource(); ok {
			return "go run " + source
		}
	}
	return ui.Sanitize(shellWord(program))
})

const plainName = "assetferry"

// goRun is in the path of a program that go run built: in its folder for temporary files,
// which is gone when the program ends, or in its cache.
var goRun = regexp.MustCompile(`[/\\]go-build\d+[/\\]b\d+[/\\]exe[/\\]|[/\\][0-9a-f]{2}[/\\][0-9a-f]{64}-d[/\\]`)

func isGoRun(program string) bool { return goRun.MatchString(program) }

// goRunSource is what go run takes to run this program from its source, in the folder of the
// repository or below it; ok is false elsewhere.
func goRunSource() (source string, ok bool) {
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

// callable has the commands in a hint begin with what runs this program here. Every note and
// hint goes through it, so that none has to think of it; texts of help topics and reports,
// which others read elsewhere, keep the plain name.
func callable(text string) string { return withProgram(text, programName()) }

func withProgram(text, name string) string {
	if name == plainName || !strings.Contains(text, "assetferry ") {
		return text
	}
	return inSentence.ReplaceAllString(text, "${1}"+strings.ReplaceAll(name, "$", "$$")+" ${2}")
}
