package rclonetest

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// An api serves the API of rclone.
type api struct {
	needsPassword bool
	quit          chan os.Signal
	throttled     atomic.Int64 // listings to refuse
}

var objectPath = regexp.MustCompile(`^/\[(.*?)\]/(.*)$`)

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if a.needsPassword && (password == "" || user != os.Getenv("RCLONE_RC_USER") || password != os.Getenv("RCLONE_RC_PASS")) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodPost {
		a.call(w, r)
		return
	}
	m := objectPath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		fail(w, r.URL.Path, errors.New("object not found"))
		return
	}
	dir, err := folder(m[1])
	if err != nil {
		fail(w, m[2], err)
		return
	}
	content, err := os.Open(filepath.Join(dir, filepath.FromSlash(m[2])))
	if err != nil {
		fail(w, m[2], errors.New("failed to find object: object not found"))
		return
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		fail(w, m[2], err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream") // else the types of the system are read
	http.ServeContent(w, r, m[2], info.ModTime(), content)
}

// parameters are those of all commands.
type parameters struct {
	Fs, Remote string
	Opt        struct {
		Recurse, ShowHash, FilesOnly, DirsOnly bool
	}
}

func (a *api) call(w http.ResponseWriter, r *http.Request) {
	var in parameters
	err := json.NewDecoder(r.Body).Decode(&in)
	drain(r.Body)
	command := strings.TrimPrefix(r.URL.Path, "/")
	var out any
	if err == nil {
		out, err = a.answer(command, in)
	}
	if err != nil {
		fail(w, command, err)
		return
	}
	write(w, out)
}

var errNoMethod = errors.New("couldn't find method")

func (a *api) answer(command string, in parameters) (any, error) {
	switch command {
	case "config/listremotes":
		known, err := remotes()
		return map[string]any{"remotes": slices.Sorted(maps.Keys(known))}, err
	case "config/dump":
		return remotes()
	case "core/pid":
		return map[string]int{"pid": os.Getpid()}, nil
	case "core/memstats":
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m, nil
	case "core/quit":
		a.quit <- syscall.SIGTERM
		return struct{}{}, nil
	case "operations/fsinfo":
		dir, err := folder(in.Fs)
		return map[string]any{
			"Name": "test", "Root": dir, "String": "test " + dir, "Precision": time.Nanosecond, "Hashes": []string{"md5"},
			"Features": map[string]bool{"SlowHash": true},
		}, err
	case "operations/list":
		if a.throttled.Add(-1) >= 0 {
			return nil, errors.New("error in ListJSON: couldn't list directory: googleapi: Error 403: User Rate Limit Exceeded, userRateLimitExceeded")
		}
		return list(in)
	case "operations/stat":
		return stat(in)
	}
	return nil, errNoMethod
}

// An item is an entry of a listing.
type item struct {
	Path, Name string
	Size       int64
	MimeType   string
	ModTime    time.Time
	IsDir      bool
	Hashes     map[string]string `json:",omitempty"`
}

func list(in parameters) (any, error) {
	dir, err := folder(in.Fs)
	if err != nil {
		return nil, err
	}
	found := []item{}
	top := filepath.Join(dir, filepath.FromSlash(in.Remote))
	err = filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == top {
			return err
		}
		i, err := describe(dir, name, in.Opt.ShowHash)
		if err == nil && (!i.IsDir || !in.Opt.FilesOnly) && (i.IsDir || !in.Opt.DirsOnly) {
			found = append(found, i)
		}
		if err == nil && e.IsDir() && !in.Opt.Recurse {
			err = fs.SkipDir
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("error in ListJSON: directory not found")
	}
	return map[string]any{"list": found}, err
}

func stat(in parameters) (any, error) {
	dir, err := folder(in.Fs)
	if err != nil {
		return nil, err
	}
	i, err := describe(dir, filepath.Join(dir, filepath.FromSlash(in.Remote)), in.Opt.ShowHash)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{"item": nil}, nil
	}
	return map[string]any{"item": i}, err
}

func describe(dir, name string, hash bool) (item, error) {
	info, err := os.Stat(name)
	if err != nil {
		return item{}, err
	}
	below, err := filepath.Rel(dir, name)
	if err != nil {
		return item{}, err
	}
	i := item{Path: filepath.ToSlash(below), Name: info.Name(), Size: info.Size(), ModTime: info.ModTime(), IsDir: info.IsDir()}
	if i.IsDir {
		i.Size, i.MimeType = -1, "inode/directory"
	} else if hash {
		content, err := os.ReadFile(name)
		sum := md5.Sum(content)
		i.Hashes = map[string]string{"md5": hex.EncodeToString(sum[:])}
		return i, err
	}
	return i, nil
}

func fail(w http.ResponseWriter, command string, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, errNoMethod) || strings.Contains(err.Error(), "not found") {
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	write(w, map[string]any{"error": err.Error(), "input": nil, "path": command, "status": status})
}

func write(w http.ResponseWriter, answer any) { _ = json.NewEncoder(w).Encode(answer) }
