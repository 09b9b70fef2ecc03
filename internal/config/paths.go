package config

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// DefaultState returns the default path of the state database of a destination.
func DefaultState(env Env, environment, workspace string) (string, error) {
	dir, err := folder(runtime.GOOS, env, "XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", err
	}
	if workspace == "" {
		workspace = "default"
	}
	return filepath.Join(dir, fileName(environment)+"-"+fileName(workspace)+".db"), nil
}

// BackupDir returns the default folder for originals of rewritten files.
func BackupDir(env Env) (string, error) {
	dir, err := folder(runtime.GOOS, env, "XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "backups"), nil
}

// SandboxDir returns the folder of the embedded sandbox.
func SandboxDir(env Env) (string, error) {
	dir, err := folder(runtime.GOOS, env, "XDG_DATA_HOME", ".local/share")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "sandbox"), nil
}

// folder returns the assetferry folder under a base folder of the XDG specification, which ignores
// relative paths in variables.
func folder(goos string, env Env, variable, fallback string) (string, error) {
	if base := env.get(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "assetferry"), nil
	}
	home := "HOME"
	if goos == "windows" {
		home, fallback = "LocalAppData", ""
	}
	base := env.get(home)
	if base == "" {
		return "", &UsageError{
			Msg:  fmt.Sprintf("no folder for the files of assetferry: %s and %s are not set", variable, home),
			Hint: "set " + variable + " to a folder",
		}
	}
	return filepath.Join(base, filepath.FromSlash(fallback), "assetferry"), nil
}

// fileName makes an ID a part of a file name. An ID that has to change gets its checksum, so that
// two IDs never share a file.
func fileName(id string) string {
	const longest = 64
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
	name = name[:min(len(name), longest)]
	if name != id {
		name += fmt.Sprintf("_%x", sha256.Sum256([]byte(id)))[:9]
	}
	return name
}
