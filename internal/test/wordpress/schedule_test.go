//go:build wordpress

package wordpress

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetferry/internal/clock"
)

// A scheduledWeek is a migration whose syncs are the cron line of schedule, a day apart.
type scheduledWeek struct {
	*migration
	line   string // what cron starts
	moved  time.Duration
	before []string // the environment without the clock
}

// TestScheduledWeek runs the line of schedule on seven days with changes between, and compares with the
// database after each.
func TestScheduledWeek(t *testing.T) {
	s := Start(t, Options{})
	images := s.AddImages(60, 0)
	w := newScheduledWeek(t, s)
	for n, day := range []struct {
		change string // PHP
		exit   int
		stays  bool // an asset is at the destination that the database has no more
	}{
		{"", 0, false},
		{`wp_update_post(['ID' => $args[0][3], 'post_title' => 'Neuer Titel «写真»']); update_post_meta($args[0][4], '_wp_attachment_image_alt', 'Ein neuer Text'); wp_update_post(['ID' => $args[0][4]]);`, 0, false},
		{`$file = get_attached_file($args[0][5]); $image = imagecreatetruecolor(500, 400); imagejpeg($image, $file); touch($file, time() + 60); wp_update_attachment_metadata($args[0][5], wp_generate_attachment_metadata($args[0][5], $file));`, 0, false},
		{`wp_delete_attachment($args[0][6], true);`, 0, true},
		{`$old = get_attached_file($args[0][8]); $new = dirname($old) . '/renamed-' . basename($old); rename($old, $new); update_attached_file($args[0][8], $new); wp_update_attachment_metadata($args[0][8], wp_generate_attachment_metadata($args[0][8], $new)); wp_update_post(['ID' => $args[0][8]]);`, 0, false},
		{`WP_Application_Passwords::delete_all_application_passwords(1);`, 12, false},
		{`list($password) = WP_Application_Passwords::create_new_application_password(1, ['name' => 'another']); echo $password;`, 0, false},
	} {
		t.Logf("day %d", n+1)
		out := s.PHP(day.change, images)
		if strings.Contains(day.change, "echo $password") {
			w.writePassword(out)
			s.AddImages(2, 60)
		}
		w.day(day.exit)
		if !day.stays {
			w.compare()
		}
		w.moved += 24 * time.Hour
	}
}

func newScheduledWeek(t *testing.T, s *Site) *scheduledWeek {
	t.Helper()
	w := &scheduledWeek{migration: newMigration(t, s)}
	build := exec.Command("go", "build", "-tags", "testclock", "-o", w.program, "assetferry/cmd/assetferry")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	must(t, os.WriteFile(filepath.Join(w.dir, "assetferry.yaml"), fmt.Appendf(nil, `to: sandbox
jobs:
  library:
    source: wordpress+%s
    delete: trash
    max_delete_percent: 5
    mapping: {rules: [{use: wordpress}]}
`, s.URL), 0o600))
	w.before = w.env
	printed := w.run(0, "schedule", "--job", "library", "--format", "cron")
	_, line, _ := strings.Cut(printed, "\n") // after a comment
	w.line = strings.SplitN(strings.TrimSpace(line), " ", 6)[5]
	must(t, os.MkdirAll(filepath.Join(w.dir, "state", "assetferry"), 0o700)) // as schedule says
	w.writePassword(s.AppPassword)
	return w
}

// writePassword writes the file from which the line reads its secrets, as schedule says.
func (w *scheduledWeek) writePassword(password string) {
	w.t.Helper()
	_, rest, found := strings.Cut(w.line, "set -a && . ")
	name, _, _ := strings.Cut(rest, " && ")
	if !found || !strings.HasPrefix(name, w.dir) {
		w.t.Fatalf("the line reads no file of secrets below %s: %s", w.dir, w.line)
	}
	must(w.t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(w.t, os.WriteFile(name, fmt.Appendf(nil, "ASSETFERRY_WORDPRESS_PASSWORD='%s'\n", password), 0o600))
}

// day starts the line as cron does. It must end with an exit code.
func (w *scheduledWeek) day(code int) {
	w.t.Helper()
	moved := clock.Variable + "=" + w.moved.String()
	w.env = append(w.before[:len(w.before):len(w.before)], moved)
	cmd := exec.Command("/bin/sh", "-c", w.line)
	cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + w.dir, "LOGNAME=reader", "SHELL=/bin/sh", "PATH=/usr/bin:/bin", moved}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code is checked
	logs, err := filepath.Glob(filepath.Join(w.dir, "state", "assetferry", "*.log"))
	must(w.t, err)
	for _, name := range logs {
		text, err := os.ReadFile(name)
		must(w.t, err)
		must(w.t, os.Truncate(name, 0))
		out.Write(text)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		w.t.Fatalf("exit code %d, want %d\n%s", got, code, &out)
	}
	w.t.Logf("exit code %d\n%s", code, &out)
}
