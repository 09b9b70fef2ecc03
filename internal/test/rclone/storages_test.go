//go:build rclone

package rclone

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/rclone"
	"assetferry/internal/test/processtest"
	"assetferry/sources"
	"assetferry/sources/sourcetest"
)

// A storage is what a remote reads in a test.
type storage struct {
	// remote returns REMOTE:path for a name of a folder at the top.
	remote func(folder string) string
	// dir is the local directory that holds the folders.
	dir string
	// config has the lines of the remote for the configuration of rclone.
	config string
	// storable excludes keys that the storage cannot hold.
	storable func(...sources.Key) bool
}

// A disk changes files of a storage.
type disk struct {
	root    string
	changes atomic.Int64
}

// path returns the path of a key, which keeps a space at its end.
func (d *disk) path(key sources.Key) string { return d.root + "/" + string(key) }

// put stores a file in place. Each change has another time.
func (d *disk) put(f sourcetest.File) error {
	path := d.path(f.Key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.Content, 0o600); err != nil {
		return err
	}
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(d.changes.Add(1)) * 3 * time.Second)
	return os.Chtimes(path, at, at)
}

// isFileName excludes keys that are no paths of files, or that rclone shows in another form.
func isFileName(keys ...sources.Key) bool {
	for _, k := range keys {
		if k.Check() != nil || strings.Contains(string(k), "\x7f") {
			return false
		}
		for segment := range strings.SplitSeq(string(k), "/") {
			if len(segment) > 255 {
				return false
			}
		}
	}
	return true
}

// isUnique also excludes keys that differ only in their Unicode form, which a server that is rclone
// itself takes for one.
func isUnique(keys ...sources.Key) bool {
	forms := map[string]bool{}
	for _, k := range keys {
		if !utf8.ValidString(string(k)) || forms[norm.NFC.String(string(k))] {
			return false
		}
		forms[norm.NFC.String(string(k))] = true
	}
	return isFileName(keys...)
}

// run starts a program for the time of a test, and waits until it accepts connections.
func run(tb testing.TB, addr string, c *exec.Cmd) {
	tb.Helper()
	s := &server{addr: addr, command: func() *exec.Cmd { return c }}
	must(tb, s.start())
	tb.Cleanup(s.kill)
}

// onDisk is the local file system.
func onDisk(tb testing.TB, _ rclone.Program) storage {
	dir := tb.TempDir()
	return storage{dir: dir, config: "[disk]\ntype = local\n", storable: isFileName,
		remote: func(folder string) string { return "disk:" + dir + "/" + folder }}
}

// A server that is rclone itself remembers folders for some time. The shared source tests change files
// on the disk, behind its back.
const (
	forget   = "0s"
	remember = "1h"
)

// overWebDAV is a folder that rclone serves.
func overWebDAV(tb testing.TB, newest rclone.Program) storage { return webDAV(tb, newest, forget) }

func webDAV(tb testing.TB, newest rclone.Program, cacheTime string) storage {
	dir, port := tb.TempDir(), processtest.FreePort(tb)
	run(tb, "127.0.0.1:"+port, webDAVServer(newest, dir, port, "--dir-cache-time", cacheTime))
	return storage{dir: dir, config: webDAVConfig(port), storable: isUnique,
		remote: func(folder string) string { return "dav:" + folder }}
}

func webDAVServer(p rclone.Program, dir, port string, more ...string) *exec.Cmd {
	return command(p, append([]string{"serve", "webdav", dir, "--addr", "127.0.0.1:" + port}, more...)...)
}

func webDAVConfig(port string) string {
	return "[dav]\ntype = webdav\nurl = http://127.0.0.1:" + port + "\nvendor = rclone\n"
}

// overS3 is a folder that rclone serves as buckets.
func overS3(tb testing.TB, newest rclone.Program) storage {
	dir, port := tb.TempDir(), processtest.FreePort(tb)
	run(tb, "127.0.0.1:"+port, s3Server(newest, dir, port, "a-secret"))
	return storage{dir: dir, storable: isUnique, config: s3Config(port, "a-secret"),
		remote: func(folder string) string { return "s3:" + folder }}
}

func s3Server(p rclone.Program, dir, port, secret string) *exec.Cmd {
	return command(p, "serve", "s3", dir, "--addr", "127.0.0.1:"+port, "--dir-cache-time", forget, "--auth-key", "an-id,"+secret)
}

func s3Config(port, secret string) string {
	return "[s3]\ntype = s3\nprovider = Other\naccess_key_id = an-id\nsecret_access_key = " + secret +
		"\nregion = us-east-1\nforce_path_style = true\nendpoint = http://127.0.0.1:" + port + "\n"
}

// overSFTP is a folder behind a real SSH server.
func overSFTP(tb testing.TB, _ rclone.Program) storage {
	dir, keys, port := tb.TempDir(), tb.TempDir(), processtest.FreePort(tb)
	makeKeys(tb, keys, "host", "user")
	run(tb, "127.0.0.1:"+port, sshServer(tb, keys, port))
	return storage{dir: dir, config: sshConfig(keys+"/user", port), storable: isFileName,
		remote: func(folder string) string { return "ssh:" + dir + "/" + folder }}
}

// makeKeys makes pairs of SSH keys in a folder.
func makeKeys(tb testing.TB, dir string, names ...string) {
	tb.Helper()
	for _, name := range names {
		out, err := exec.CommandContext(tb.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir+"/"+name).CombinedOutput()
		if err != nil {
			tb.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
}

// sshServer returns the command of a server with the keys of a folder: "host", and "user.pub" for
// clients.
func sshServer(tb testing.TB, keys, port string) *exec.Cmd {
	tb.Helper()
	if os.Getuid() == 0 {
		must(tb, os.MkdirAll("/run/sshd", 0o755)) // for the separation of privileges
	}
	return exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", keys+"/host", "-p", port, // no context: the server ends after the test
		"-o", "ListenAddress=127.0.0.1", "-o", "AuthorizedKeysFile="+keys+"/user.pub", "-o", "StrictModes=no", "-o", "PidFile=none",
		"-o", "Subsystem=sftp internal-sftp", "-o", "PermitRootLogin=prohibit-password", "-o", "UsePAM=no", "-o", "MaxStartups=200", "-o", "MaxSessions=200")
}

func sshConfig(keyFile, port string) string {
	user := os.Getenv("USER")
	if user == "" || os.Getuid() == 0 {
		user = "root"
	}
	return fmt.Sprintf("[ssh]\ntype = sftp\nhost = 127.0.0.1\nport = %s\nuser = %s\nkey_file = %s\nshell_type = none\n", port, user, keyFile)
}
