//go:build rclone

package rclone

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/nacl/secretbox"

	"assetferry/internal/rclone"
)

// encrypted returns a configuration in the encrypted form of rclone.
func encrypted(content, password string) []byte {
	key := sha256.Sum256([]byte("[" + password + "][rclone-config]"))
	nonce := [24]byte{1, 2, 3}
	sealed := secretbox.Seal(nonce[:], []byte(content), &nonce, &key)
	return []byte("# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\n" + base64.StdEncoding.EncodeToString(sealed) + "\n")
}

func TestConfigurations(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, environ []string) {
		dir := t.TempDir()
		secret, broken := filepath.Join(dir, "secret.conf"), filepath.Join(dir, "broken.conf")
		if err := errors.Join(os.WriteFile(secret, encrypted("[vault]\ntype = memory\n", "geheim"), 0o600), os.WriteFile(broken, []byte("[a\nnothing"), 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			file, password string
			want           error
		}{
			{secret, "", rclone.ErrEncrypted},
			{secret, "wrong", rclone.ErrWrongPassword},
			{secret, "geheim", nil},
			{broken, "", rclone.ErrConfig},
			{dir, "", rclone.ErrConfig},
			{filepath.Join(dir, "missing.conf"), "", nil},
		} {
			with := append(environ, "RCLONE_CONFIG="+test.file, "RCLONE_CONFIG_PASS="+test.password)
			if test.password == "" {
				with = with[:len(with)-1]
			}
			if path, err := rclone.ConfigFile(t.Context(), p, with); err != nil || path != test.file {
				t.Errorf("path %q, %v, not %s", path, err, test.file)
			}
			s, err := rclone.Start(t.Context(), p, rclone.Options{Environ: with})
			if !errors.Is(err, test.want) {
				t.Errorf("%s with %q: %v", test.file, test.password, err)
			}
			if err != nil {
				t.Log(err)
				continue
			}
			if names, err := s.Remotes(t.Context()); err != nil || (len(names) == 1) != (test.file == secret) {
				t.Errorf("remotes %v, %v", names, err)
			}
			_ = s.Close()
		}
	})
}
