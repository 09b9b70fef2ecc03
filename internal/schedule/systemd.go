package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// toFinish is the time that a stopped run has to complete the work in progress.
const toFinish = 10 * time.Minute

// Service returns the systemd service.
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

// Timer returns the systemd timer.
func (t Task) Timer() string {
	u := &unit{}
	u.section("Unit")
	u.set("Description", "Daily start of "+t.Name+".service")
	u.section("Timer")
	u.set("OnCalendar", fmt.Sprintf("*-*-* %02d:%02d:00", t.Hour, t.Minute))
	u.comment("Machines that share a disk or a service start at different times.")
	u.set("RandomizedDelaySec", "15min")
	u.comment("A start that was missed while the machine was off happens at the next boot.")
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
		u.comment("A disk that is not mounted is an error, not an empty library.")
		u.list("RequiresMountsFor", slices.Concat(t.Read, t.Written))
	}
	u.comment("Your own unit for notifications, such as by mail:")
	u.text.WriteString("#OnFailure=notify@%n.service\n")
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
		u.comment("Secrets as lines NAME='value'. Use mode 0600.")
		u.set("EnvironmentFile", t.SecretFile)
	}
	for _, c := range t.Credentials {
		u.set("LoadCredential", c.ID+":"+c.File)
		u.line("Environment", word(c.Variable+"=")+"%d/"+c.ID) // %d is the folder of credentials
	}
	u.line("ExecStart", u.command(t.Command))
}

func (t Task) end(u *unit) {
	u.comment("Exit code 7 is a success: a limit or a time window ended the run, and the next\n" +
		"run continues. All codes except 0 and 7 are failures, also 3 (some objects\n" +
		"were not completed) and 11 (state database in use).")
	u.set("SuccessExitStatus", "7")
	u.comment("A hanging run is stopped before the next one starts. It may complete the work\n" +
		"in progress, then it is killed. The next run resumes in both cases.")
	u.set("TimeoutStartSec", seconds(t.Limit))
	u.set("TimeoutStopSec", seconds(toFinish))
	u.set("KillMode", "mixed")
}

func (t Task) manners(u *unit) {
	u.comment("Other work on this machine has priority.")
	u.set("Nice", "10")
	u.set("IOSchedulingClass", "best-effort")
	u.set("IOSchedulingPriority", "7")
	u.set("MemoryMax", t.memory())
	u.set("UMask", "0077")
}

// memory returns the limit of memory for all processes. rclone needs 1.2 GB for a million objects in one
// folder.
func (t Task) memory() string {
	if t.Large {
		return "4G"
	}
	return "1G"
}

// confine removes permissions that the service does not need. The manager of user units supports only
// the part that needs no other view of the file system.
func (t Task) confine(u *unit) {
	u.comment("Only the required permissions:")
	u.set("NoNewPrivileges", "true")
	u.comment("A core dump would contain the access key.")
	u.set("LimitCORE", "0")
	u.set("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX")
	u.set("SystemCallArchitectures", "native")
	u.set("SystemCallFilter", "@system-service")
	u.set("SystemCallErrorNumber", "EPERM")
	for _, what := range []string{"LockPersonality", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID"} {
		u.set(what, "true")
	}
	if !t.Helpers { // some programs compile code at run time
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

// capabilities returns the remaining capabilities: root may read the files of others.
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
		u.comment("A required path is in a folder for temporary files, so the service shares these\nfolders with all processes.")
		writes = slices.Concat(writes, []string{"/tmp", "/var/tmp"})
	} else {
		u.set("PrivateTmp", "true")
	}
	u.list("ReadWritePaths", writes)
}

// A unit is a systemd file during its construction.
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

// line writes a setting unchanged.
func (u *unit) line(key, value string) { u.text.WriteString(key + "=" + value + "\n") }

// set writes a setting whose value has no quotes.
func (u *unit) set(key, value string) {
	if value != strings.TrimSpace(value) || strings.HasSuffix(value, `\`) {
		u.fail(value, "a value of "+key+"= cannot start or end with a space or end with a backslash")
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

// command returns a program and its arguments, with "$" escaped.
func (u *unit) command(words []string) string {
	if strings.ContainsAny(words[0], `'"\`) {
		u.fail(words[0], "systemd accepts no quote or backslash in the path of a program")
	}
	quoted := []string{word(words[0])}
	for _, w := range words[1:] {
		quoted = append(quoted, strings.ReplaceAll(word(w), "$", "$$"))
	}
	return strings.Join(quoted, " ")
}

func (u *unit) fail(text, why string) {
	if u.err == nil {
		u.err = &UnwritableError{Text: text, Why: why}
	}
}

// word quotes a text that systemd would split or change.
func word(text string) string {
	text = percent(text)
	if text != "" && !strings.ContainsAny(text, " '\"\\;") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// percent escapes "%", which begins a specifier.
func percent(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// seconds returns a duration in the format of systemd, such as 2h30min.
func seconds(d time.Duration) string {
	text := d.Round(time.Minute).String() // such as 23h0m0s
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return strings.Replace(text, "m", "min", 1)
}
