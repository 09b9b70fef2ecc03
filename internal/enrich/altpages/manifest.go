package altpages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A manifest beside a result records how it was made. It is written before the result, so that
// a paid answer is never lost, and the result can be made again from it.
type manifest struct {
	Version        int      `json:"version"`
	Original       string   `json:"original"` // name of the file
	OriginalSHA256 string   `json:"original_sha256"`
	Result         string   `json:"result"`
	ResultSHA256   string   `json:"result_sha256"`
	ReplacesSHA256 string   `json:"replaces_sha256,omitempty"` // the previous result
	Contexts       []string `json:"contexts,omitempty"`        // sent along to the service
	Summary        string   `json:"summary"`
	Added          []Alt    `json:"added"`
	Left           int      `json:"left"` // images still without alternative text
}

const (
	manifestVersion = 1
	mostManifest    = 16 << 20 // bytes
)

func manifestOf(path, suffix string) string { return resultOf(path, suffix) + ".json" }

// readManifest returns nil if there is none.
func readManifest(path, suffix string) (*manifest, error) {
	name := manifestOf(path, suffix)
	content, _, err := read(name, mostManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(content, &m)
	}
	if err == nil && m.Version != manifestVersion {
		err = fmt.Errorf("manifest version %d is not supported", m.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return &m, nil
}

func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// checksumOf returns "" if there is no such file.
func checksumOf(path string, most int64) (string, error) {
	content, _, err := read(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return checksum(content), nil
}

// write writes a file completely or not at all, also in a crash.
func write(path string, content []byte, mode fs.FileMode) (err error) {
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".assetferry-draft")
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a crash
		return err
	}
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	return nil
}
