package schedule

import (
	"fmt"
	"path/filepath"
	"strings"

	"assetferry/internal/shell"
)

// longest is the maximum length of a cron line in the strictest implementation.
const longest = 998

// Line returns a line for the crontab of an account. Cron mails all output and ignores the exit
// code. So the output goes to a file, and the line prints one line after a failure. The command runs
// in a subshell, because a missing file of variables ends the shell. No lock is needed: the state
// database allows one run at a time.
func (t Task) Line() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d * * * umask 077; ( ", t.Minute, t.Hour)
	if t.Folder != "" {
		fmt.Fprintf(&b, "cd %s && ", shellWord(t.Folder))
	}
	if t.SecretFile != "" {
		fmt.Fprintf(&b, "set -a && . %s && set +a && ", shellWord(t.SecretFile))
	}
	for _, v := range t.Environment {
		fmt.Fprintf(&b, "%s=%s ", v.Name, shellWord(v.Value))
	}
	for i, w := range t.Command {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(shellWord(w))
	}
	log := shellWord(t.Log)
	fmt.Fprintf(&b, " ) >>%s 2>&1 || { code=$?; [ $code = 7 ] || { echo %s: exit code $code, see %s; exit $code; }; }", log, t.Name, log)
	if b.Len() > longest {
		return "", t.tooLong(b.Len())
	}
	return b.String() + "\n", nil
}

// tooLong returns the error of a line with so many bytes.
func (t Task) tooLong(bytes int) error {
	inPath, try := "", "write the settings into a job (assetferry help schedule), or use --format systemd"
	for _, v := range t.Environment {
		if v.Name == "PATH" && bytes-len(v.Value) < longest {
			short := eachOnce(filepath.Dir(t.Command[0]) + ":/usr/local/bin:/usr/bin:/bin")
			inPath = fmt.Sprintf(", %d of them in PATH", len(v.Value))
			try = "reduce PATH to the folders of the programs that the sync starts, then run the command again; for example:\n  PATH=" + shell.Word(short)
		}
	}
	return &UnwritableError{Why: fmt.Sprintf("its cron line has %d bytes%s, and cron accepts at most %d", bytes, inPath, longest), Try: try}
}

// shellWord quotes a text for a shell that cron starts. To cron, "%" ends the line unless a backslash
// precedes it. The shell sees that backslash, too. A quote separates it from a backslash of the text,
// so that cron does not read the two as a pair.
func shellWord(text string) string {
	parts := strings.Split(text, "%")
	for i, part := range parts {
		if part != "" || len(parts) == 1 {
			parts[i] = quoted(part)
		}
	}
	return strings.Join(parts, `\%`)
}

func quoted(text string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:@+=,-", r))
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
