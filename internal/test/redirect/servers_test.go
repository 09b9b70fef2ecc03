//go:build webserver

package redirect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/test/processtest"
)

// publicDir returns a temporary folder that every user may read: a server that root starts runs as
// another user.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeConf(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func startNginx(t *testing.T, s *site) string {
	path, lines := s.writeMap(t, "nginx")
	return serveNginx(t, path, lines)
}

// serveNginx serves only the URLs of a map, with its configuration lines.
func serveNginx(t *testing.T, path, lines string) string {
	include, redirects, _ := strings.Cut(lines, "\n")
	if include != "include /etc/nginx/assetferry.conf;" {
		t.Fatalf("the first line is %s", include)
	}
	rawURL, dir := "127.0.0.1:"+processtest.FreePort(t), publicDir(t)
	conf := filepath.Join(dir, "nginx.conf")
	writeConf(t, conf, fmt.Sprintf(`
daemon off;
pid nginx.pid;
error_log stderr notice;
events {}
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	include %s;
	server {
		listen %s;
		%s
		location / { return 404; }
	}
}
`, path, rawURL, redirects))
	serve(t, "start worker process", exec.Command("nginx", "-p", dir, "-c", conf, "-e", "stderr"))
	return "http://" + rawURL
}

func startApache(t *testing.T, s *site) string {
	path, lines := s.writeMap(t, "apache")
	return serveApache(t, strings.ReplaceAll(lines, "/etc/apache2/assetferry.txt", path))
}

// startApacheWithDatabase creates the database that the comment of the map describes.
func startApacheWithDatabase(t *testing.T, s *site) string {
	path, lines := s.writeMap(t, "apache")
	database := strings.TrimSuffix(path, ".map") + ".dbm"
	if out, err := exec.Command("httxt2dbm", "-i", path, "-o", database).CombinedOutput(); err != nil {
		t.Fatalf("httxt2dbm: %v\n%s", err, out)
	}
	return serveApache(t, strings.ReplaceAll(lines, "txt:/etc/apache2/assetferry.txt", "dbm:"+database))
}

func serveApache(t *testing.T, lines string) string {
	lines, convert, _ := strings.Cut(lines, "httxt2dbm")
	if convert != " -i assetferry.txt -o assetferry.dbm\n" {
		t.Fatalf("the last line is httxt2dbm%s", convert)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "User www-data\nGroup www-data"
	}
	rawURL, dir := "127.0.0.1:"+processtest.FreePort(t), publicDir(t)
	conf := filepath.Join(dir, "apache2.conf")
	writeConf(t, conf, fmt.Sprintf(`
ServerRoot %[1]q
DefaultRuntimeDir %[1]q
PidFile pid
ServerName old.example.com
Listen %[2]s
ErrorLog /dev/stderr
LogLevel notice
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
%[3]s
DocumentRoot %[1]q
<VirtualHost %[2]s>
%[4]s
</VirtualHost>
`, dir, rawURL, user, lines))
	serve(t, "resuming normal operations", exec.Command("apache2", "-D", "FOREGROUND", "-f", conf))
	return "http://" + rawURL
}
