//go:build wordpress

// Package wordpress starts a real WordPress on this machine for tests: its own MariaDB on a socket,
// PHP, and files from Debian's package or from the folder that ASSETFERRY_WORDPRESS names. Nothing
// of it outlives the test.
//
//	go test -tags wordpress ./internal/test/wordpress/...
//	ASSETFERRY_WORDPRESS=/srv/wordpress-6.5 go test -tags wordpress ./internal/test/wordpress/...
package wordpress

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/test/processtest"
)

// folderVariable names a folder with another WordPress than Debian's.
const folderVariable = "ASSETFERRY_WORDPRESS"

const debianFolder = "/usr/share/wordpress"

// startTimeout is the maximum time until a server answers.
const startTimeout = time.Minute

// Options are the options of Start.
type Options struct {
	// Folder is the path of the site below the root of its host, such as "/blog"; "" is the root.
	Folder string
}

// A Site is a running WordPress with an administrator and an application password.
type Site struct {
	URL         string // without a slash at the end
	User        string
	AppPassword string
	Version     string
	Files       string // the folder of the installation, with wp-content/uploads
	Front       *Front

	t      testing.TB
	dir    string
	socket string
}

//go:embed php
var scripts embed.FS

// Start starts a site that ends with the test.
func Start(t testing.TB, o Options) *Site {
	t.Helper()
	// A short path, because the length of a socket's path is limited.
	dir, err := os.MkdirTemp("", "wp")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	root := filepath.Join(dir, "www")
	s := &Site{t: t, dir: dir, socket: filepath.Join(dir, "sql"), User: "admin", Files: filepath.Join(root, filepath.FromSlash(o.Folder))}
	copyTree(t, installation(), s.Files)
	s.startDatabase()
	php := "127.0.0.1:" + processtest.FreePort(t)
	s.Front = startFront(t, root, php)
	s.URL = s.Front.url + o.Folder
	s.configure()
	s.startPHP(root, php, o.Folder)
	s.install() // it requests a page
	return s
}

// installation returns the folder with the files of WordPress.
func installation() string {
	if dir := os.Getenv(folderVariable); dir != "" {
		return dir
	}
	return debianFolder
}

// copyTree copies a folder, with the files that symbolic links lead to. Debian keeps parts of
// WordPress elsewhere.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if out, err := exec.Command("cp", "-rL", from, to).CombinedOutput(); err != nil && !isOnlyBroken(string(out)) {
		t.Fatalf("copy %s: %v\n%s", from, err, out)
	}
	must(t, os.RemoveAll(filepath.Join(to, "wp-content", "db.php"))) // of builds for SQLite
	must(t, os.RemoveAll(filepath.Join(to, "wp-config.php")))
	theme := filepath.Join(to, "wp-content", "themes", "plain")
	must(t, os.MkdirAll(theme, 0o755))
	must(t, os.MkdirAll(filepath.Join(to, "wp-content", "uploads"), 0o755))
	files, err := fs.ReadDir(scripts, "php/theme")
	must(t, err)
	for _, f := range files {
		must(t, os.WriteFile(filepath.Join(theme, f.Name()), script(t, "theme/"+f.Name()), 0o644))
	}
}

// isOnlyBroken reports whether a copy failed only for broken links, such as
// configuration of a package that was removed.
func isOnlyBroken(output string) bool {
	for line := range strings.Lines(output) {
		if !strings.Contains(line, "No such file or directory") {
			return false
		}
	}
	return true
}

func script(t testing.TB, name string) []byte {
	t.Helper()
	text, err := scripts.ReadFile("php/" + name)
	must(t, err)
	return text
}

// configure writes wp-config.php. Application passwords need HTTPS, or a site that calls itself
// local.
func (s *Site) configure() {
	s.t.Helper()
	config := fmt.Sprintf(`<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:%s');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_ENVIRONMENT_TYPE', 'local');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
define('FS_METHOD', 'direct');
define('WP_CONTENT_DIR', __DIR__ . '/wp-content');
$table_prefix = 'wp_';
foreach (['AUTH_KEY','SECURE_AUTH_KEY','LOGGED_IN_KEY','NONCE_KEY','AUTH_SALT','SECURE_AUTH_SALT','LOGGED_IN_SALT','NONCE_SALT'] as $name) define($name, "test of $name");
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
`, s.socket)
	must(s.t, os.WriteFile(filepath.Join(s.Files, "wp-config.php"), []byte(config), 0o644))
}

// install creates the tables, the administrator and the application password.
func (s *Site) install() {
	s.t.Helper()
	out := s.run("define('WP_INSTALLING', true);", string(script(s.t, "install.php")))
	var made struct{ Password, Version string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Password == "" {
		s.t.Fatalf("install WordPress: %v\n%s", err, out)
	}
	s.AppPassword, s.Version = made.Password, made.Version
}

// PHP runs a script as the administrator, with WordPress loaded, and returns its output. The script
// is without <?php. It gets values in $args.
func (s *Site) PHP(code string, args ...any) string {
	s.t.Helper()
	return s.run("", code, args...)
}

func (s *Site) run(before, code string, args ...any) string {
	s.t.Helper()
	values, err := json.Marshal(append([]any{}, args...))
	must(s.t, err)
	f, err := os.CreateTemp(s.dir, "*.php")
	must(s.t, err)
	defer os.Remove(f.Name())
	_, host, _ := strings.Cut(s.Front.url, "://")
	_, err = fmt.Fprintf(f, `<?php
error_reporting(E_ALL & ~E_DEPRECATED);
$_SERVER['HTTP_HOST'] = '%s';
$_SERVER['REQUEST_METHOD'] = 'GET';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$url = '%s';
$args = json_decode(file_get_contents('php://stdin'), true);
%s
require '%s/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/admin.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
if (!wp_installing()) wp_set_current_user(1);
%s`, host, s.URL, before, s.Files, strings.TrimPrefix(code, "<?php"))
	must(s.t, err)
	must(s.t, f.Close())
	cmd := exec.Command("php", "-d", "memory_limit=1G", "-d", "display_errors=stderr", f.Name())
	cmd.Stdin = strings.NewReader(string(values))
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil || strings.Contains(problems.String(), "PHP ") {
		s.t.Fatalf("PHP: %v\n%s\n%s", err, problems.String(), out.String())
	}
	return out.String()
}

// startPHP starts PHP's web server, whose workers answer in parallel.
func (s *Site) startPHP(root, port, folder string) {
	s.t.Helper()
	router := filepath.Join(s.dir, "router.php")
	must(s.t, os.WriteFile(router, script(s.t, "router.php"), 0o644))
	cmd := exec.Command("php", "-d", "memory_limit=512M", "-d", "display_errors=0", "-d", "upload_max_filesize=64M", "-d", "post_max_size=64M",
		"-S", port, "-t", root, router)
	cmd.Env = append(os.Environ(), "PHP_CLI_SERVER_WORKERS=4", "WORDPRESS_FOLDER="+folder)
	s.start(cmd, "php.log")
	s.waitFor("PHP", func() error { return dial("tcp", port) }, "php.log")
}

// start starts a process with its children, which ends with the test.
func (s *Site) start(cmd *exec.Cmd, log string) {
	s.t.Helper()
	f, err := os.Create(filepath.Join(s.dir, log))
	must(s.t, err)
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()                                      // killed
		must(s.t, f.Close())
	})
}

func (s *Site) waitFor(name string, try func() error, log string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			text, _ := os.ReadFile(filepath.Join(s.dir, log)) // what there is
			s.t.Fatalf("%s does not answer: %v\n%s", name, err, text)
		}
	}
}

func dial(network, host string) error {
	c, err := net.Dial(network, host)
	if err != nil {
		return err
	}
	return c.Close()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
