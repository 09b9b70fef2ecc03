package schedule

import (
	"fmt"
	"strings"
)

// longest is what a line of cron may have, by the strictest of them.
const longest = 998

// Line is a line for the crontab of an account. Cron mails what a command prints and
// ignores how it ends, so that what it prints goes to a file, and a line tells that it
// failed; a shell of its own runs it, for one ends at a file with variables that is not
// there. No lock is needed: two runs exclude each other by themselves.
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
		return "", &UnwritableError{b.String(), fmt.Sprintf("cron takes lines of at most %d bytes", longest)}
	}
	return b.String() + "\n", nil
}

// shellWord quotes a text for a shell that cron starts. Cron takes "%" for the end of a
// line unless a backslash is before it, which is for the shell, too; a quote is between
// that and a backslash of the text, or cron would take the two for a pair.
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
