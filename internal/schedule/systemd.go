package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// toFinish is how long a run that is ended may take for what it has begun.
const toFinish = 10 * time.Minute

// Service is the unit of systemd that says what is started.
func (t Task) Service() (string, error) {
	u := &unit{}
	if err := t.check(); err != nil {
		return "", err
	}
	t.head(u)
	t.start(u)
	t.end(u)
	t.manners(u)
	t.confine(u)
	return u.text.String(), u.err
}

// Timer is the unit of systemd that says when.
func (t Task) Timer() string {
	u := &unit{}
	u.section("Unit")
	u.set("Description", "When to start "+t.Name+".service")
	u.section("Timer")
	u.set("OnCalendar", fmt.Sprintf("*-*-* %02d:%02d:00", t.Hour, t.Minute))
	u.comment("Machines that share a disk or a service do not all begin at once.")
	u.set("RandomizedDelaySec", "15min")
	u.comment("A night when the machine was off is made up for when it is on again.")
	u.set("Persistent", "true")
	u.section("Install")
	u.set("WantedBy", "timers.target")
	return u.text.String()
}

func (t Task) head(u *unit) {
	u.section("Unit")
	u.set("Description", t.About)
	if t.Account != "" {
		u.set("Wants", "network-online.target")
		u.set("After", "network-online.target")
		u.comment("A disk that is not mounted is an error, and no empty library.")
		u.list("RequiresMountsFor", slices.Concat(t.Read, t.Written))
	}
	u.comment("A unit of yours that tells somebody, such as by mail:")
	u.text.WriteString("#OnFailure=tell-me@%n.service\n")
}

func (t Task) start(u *unit) {
	u.section("Service")
	u.set("Type", "oneshot")
	if t.Account != "" {
		u.set("User", t.Account)
	}
	if t.Folder != "" {
		u.set("WorkingDirectory", t.Folder)
	}
	for _, v := range t.Environment {
		u.line("Environment", word(v.Name+"="+v.Value))
	}
	if t.SecretFile != "" {
		u.comment("Lines such as NAME='value'. Whoever can read it has the secrets: mode 0600.")
		u.set("EnvironmentFile", t.SecretFile)
	}
	for _, c := range t.Credentials {
		u.set("LoadCredential", c.ID+":"+c.File)
		u.line("Environment", word(c.Variable+"=")+"%d/"+c.ID) // %d is the folder of credentials
	}
	u.line("ExecStart", u.command(t.Command))
}

func (t Task) end(u *unit) {
	u.comment("7 says that a budget or a time window is used up, and that the next night\n" +
		"goes on: all is well. Everything else but 0 is for a person, also 3, that some\n" +
		"objects did not arrive, and 11, that something else has held the journal.")
	u.set("SuccessExitStatus", "7")
	u.comment("A run that hangs is ended before the next one is due: first asked to finish\n" +
		"what it has begun, then killed. The next run goes on either way.")
	u.set("TimeoutStartSec", seconds(t.Limit))
	u.set("TimeoutStopSec", seconds(toFinish))
	u.set("KillMode", "mixed")
}

func (t Task) manners(u *unit) {
	u.comment("People who work at the machine come first.")
	u.set("Nice", "10")
	u.set("IOSchedulingClass", "best-effort")
	u.set("IOSchedulingPriority", "7")
	u.set("MemoryMax", "1G")
	u.set("UMask", "0077")
}

// confine takes away what is not needed. A manager of somebody's own services can do so
// only where no other view of the file system is needed.
func (t Task) confine(u *unit) {
	u.comment("Nothing else than what it needs:")
	u.set("NoNewPrivileges", "true")
	u.comment("A core dump would hold the access key.")
	u.set("LimitCORE", "0")
	u.set("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX")
	u.set("SystemCallArchitectures", "native")
	u.set("SystemCallFilter", "@system-service")
	u.set("SystemCallErrorNumber", "EPERM")
	for _, what := range []string{"LockPersonality", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID"} {
		u.set(what, "true")
	}
	if !t.Helpers { // some are compiled as they run
		u.set("MemoryDenyWriteExecute", "true")
	}
	if t.Account == "" {
		return
	}
	for _, what := range []string{"PrivateDevices", "ProtectClock", "ProtectControlGroups", "ProtectHostname",
		"ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "RemoveIPC"} {
		u.set(what, "true")
	}
	u.set("ProtectProc", "invisible")
	u.set("CapabilityBoundingSet", t.capabilities())
	t.confineFiles(u)
}

// capabilities are what is left of those of root, who may read what belongs to others.
func (t Task) capabilities() string {
	if t.Account == "root" {
		return "CAP_DAC_READ_SEARCH"
	}
	return ""
}

func (t Task) confineFiles(u *unit) {
	writes := t.Written
	u.set("ProtectSystem", "strict")
	home := "true"
	if t.Helpers || t.needsBelow("/home", "/root", "/run/user") {
		home = "read-only"
	}
	u.set("ProtectHome", home)
	if t.needsBelow("/tmp", "/var/tmp") {
		u.comment("Something that it needs is in a folder for temporary files, so that it shares\nthese with everybody.")
		writes = slices.Concat(writes, []string{"/tmp", "/var/tmp"})
	} else {
		u.set("PrivateTmp", "true")
	}
	u.list("ReadWritePaths", writes)
}

// A unit is a file of systemd while it is written.
type unit struct {
	text strings.Builder
	err  error // the first one
}

func (u *unit) section(name string) {
	if u.text.Len() > 0 {
		u.text.WriteByte('\n')
	}
	fmt.Fprintf(&u.text, "[%s]\n", name)
}

func (u *unit) comment(text string) {
	u.text.WriteString("# " + strings.ReplaceAll(text, "\n", "\n# ") + "\n")
}

// line writes a setting as it is.
func (u *unit) line(key, value string) { u.text.WriteString(key + "=" + value + "\n") }

// set writes a setting whose value is taken without quotes.
func (u *unit) set(key, value string) {
	if value != strings.TrimSpace(value) || strings.HasSuffix(value, `\`) {
		u.fail(value, key+"= takes none that begins or ends with a space, or ends with a backslash")
	}
	u.line(key, percent(value))
}

// list writes a setting that takes several paths, each once.
func (u *unit) list(key string, paths []string) {
	var words []string
	for _, path := range paths {
		if w := word(path); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(words) > 0 {
		u.line(key, strings.Join(words, " "))
	}
}

// command writes a program and its arguments, in which "$" begins a variable.
func (u *unit) command(words []string) string {
	if strings.ContainsAny(words[0], `'"\`) {
		u.fail(words[0], "systemd takes no program with a quote or a backslash in its path")
	}
	quoted := []string{word(words[0])}
	for _, w := range words[1:] {
		quoted = append(quoted, strings.ReplaceAll(word(w), "$", "$$"))
	}
	return strings.Join(quoted, " ")
}

func (u *unit) fail(text, why string) {
	if u.err == nil {
		u.err = &UnwritableError{text, why}
	}
}

// word quotes a text where systemd would not take it as one word, or not as it is.
func word(text string) string {
	text = percent(text)
	if text != "" && !strings.ContainsAny(text, " '\"\\;") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// percent keeps what follows "%" from being a name of something else.
func percent(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// seconds writes a span of time as people do.
func seconds(d time.Duration) string {
	text := d.Round(time.Minute).String() // such as 23h0m0s
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return strings.Replace(text, "m", "min", 1)
}
