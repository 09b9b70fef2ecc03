// Package rclonetest is a stand-in of the program rclone for tests: its version, its configuration
// and the part of its API that assetferry uses, over local folders.
//
// A remote of its configuration has the setting root, the folder that it shows. A configuration that
// starts with "RCLONE_ENCRYPT_V0:" is encrypted; the rest of that line is its password.
package rclonetest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// VersionVariable overrides the version that the program prints, such as "v1.50.2".
const VersionVariable = "FAKE_RCLONE_VERSION"

// FailVariable makes rcd write its text to stderr and end.
const FailVariable = "FAKE_RCLONE_FAIL"

// ThrottledVariable is the number of listings that the storage refuses first.
const ThrottledVariable = "FAKE_RCLONE_THROTTLED"

// Main runs the program with the arguments of this process, and returns its exit code.
func Main() int {
	log.SetFlags(log.LstdFlags)
	args := os.Args[1:]
	switch {
	case len(args) >= 1 && args[0] == "version":
		fmt.Printf("rclone %s\n- os/type: test\n", cmp.Or(os.Getenv(VersionVariable), "v1.75.1-DEV"))
		return 0
	case len(args) >= 2 && args[0] == "config" && args[1] == "file":
		fmt.Println("Configuration file is stored at:\n" + configFile())
		return 0
	case len(args) >= 1 && args[0] == "listremotes":
		return listRemotes()
	case len(args) >= 1 && args[0] == "rcd":
		return serve(args[1:])
	}
	fmt.Fprintln(os.Stderr, "Error: unknown command")
	return 1
}

func listRemotes() int {
	known, err := remotes()
	if err != nil {
		log.Print("CRITICAL: " + err.Error())
		return 1
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Println(name + ":")
	}
	return 0
}

func configFile() string {
	return cmp.Or(os.Getenv("RCLONE_CONFIG"), filepath.Join(os.Getenv("HOME"), ".config", "rclone", "rclone.conf"))
}

func serve(args []string) int {
	if text := os.Getenv(FailVariable); text != "" {
		log.Print("CRITICAL: " + text)
		return 1
	}
	l, err := listen(args)
	if err != nil {
		log.Print("CRITICAL: Failed to start remote control: " + err.Error())
		return 1
	}
	if l.Addr().Network() == "tcp" {
		log.Printf("NOTICE: Serving remote control on http://%s/", l.Addr())
	}
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGTERM, os.Interrupt)
	handler := &api{needsPassword: !slices.Contains(args, "--rc-no-auth"), quit: quit}
	if n, err := strconv.Atoi(os.Getenv(ThrottledVariable)); err == nil {
		handler.throttled.Store(int64(n))
	}
	server := &http.Server{Handler: handler}
	go func() {
		<-quit
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		log.Print(err)
		return 1
	}
	return 0
}

func listen(args []string) (net.Listener, error) {
	at := slices.Index(args, "--rc-addr")
	if at < 0 || at+1 >= len(args) {
		return nil, errors.New("--rc-addr is missing")
	}
	if path, ok := strings.CutPrefix(args[at+1], "unix://"); ok {
		return net.Listen("unix", path)
	}
	return net.Listen("tcp", args[at+1])
}

// remotes reads the configuration: the settings of each remote by its name.
func remotes() (map[string]map[string]string, error) {
	failed := func(why string) error {
		return fmt.Errorf("Failed to load config file %q: %s", configFile(), why) //nolint:staticcheck // the text of rclone
	}
	f, err := os.Open(configFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, failed(err.Error())
	}
	defer f.Close()
	found, name := map[string]map[string]string{}, ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if password, ok := strings.CutPrefix(line, "RCLONE_ENCRYPT_V0:"); ok && os.Getenv("RCLONE_CONFIG_PASS") != password {
			return nil, failed("unable to decrypt configuration and not allowed to ask for password - set RCLONE_CONFIG_PASS to your configuration password")
		}
		if strings.HasPrefix(line, "[") {
			name = strings.Trim(line, "[]")
			found[name] = map[string]string{}
		}
		if key, value, ok := strings.Cut(line, "="); ok && found[name] != nil {
			found[name][strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, failed(err.Error())
	}
	return found, nil
}

// folder returns the local folder of a storage, such as "photos:2024" or "/srv/photos".
func folder(fs string) (string, error) {
	fs = strings.TrimPrefix(fs, ":local:")
	name, path, isRemote := strings.Cut(fs, ":")
	if !isRemote {
		return fs, nil
	}
	known, err := remotes()
	if err != nil {
		return "", err
	}
	name, _, _ = strings.Cut(name, ",") // the options do not matter here
	remote, ok := known[name]
	if !ok {
		return "", fmt.Errorf("didn't find section in config file (%q)", name)
	}
	return filepath.Join(remote["root"], filepath.FromSlash(path)), nil
}

// drain reads a request to its end, so that its connection can be used again.
func drain(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
