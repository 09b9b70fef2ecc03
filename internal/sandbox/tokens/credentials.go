package tokens

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/naming"
)

// An AccessKey signs tokens. It is redacted when printed, logged or encoded; a conversion to string
// returns it.
type AccessKey string

const redacted = "[redacted]"

func (AccessKey) String() string               { return redacted }
func (AccessKey) GoString() string             { return redacted }
func (AccessKey) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (AccessKey) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }

// Format covers the verbs that would print the text in spite of String.
func (AccessKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// An Environment is a tenant: its ID is also the ID of its default workspace, and its access key
// signs the tokens that name it.
type Environment struct {
	ID        string
	AccessKey AccessKey
}

// Credentials are the credentials with which a client signs tokens.
type Credentials struct {
	EnvironmentID string
	AccessKey     AccessKey
}

// NewCredentials returns new random credentials.
func NewCredentials() Credentials {
	return Credentials{EnvironmentID: naming.NewWorkspaceID(), AccessKey: AccessKey(rand.Text() + rand.Text())}
}

// The names in the file are those of assetferry's environment variables, so that a shell can read
// it.
const (
	credentialsFile = "credentials.env"
	environmentName = "ASSETFERRY_ENVIRONMENT_ID"
	accessKeyName   = "ASSETFERRY_ACCESS_KEY"
)

// LoadOrCreateCredentials reads dir/credentials.env, or creates it with new credentials. Parallel
// processes get the same credentials.
func LoadOrCreateCredentials(dir string) (Credentials, error) {
	if _, err := datadir.Secure(dir); err != nil {
		return Credentials{}, fmt.Errorf("sandbox credentials: %w", err)
	}
	path := filepath.Join(dir, credentialsFile)
	c, err := readCredentials(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createCredentials(path); err == nil {
			c, err = readCredentials(path)
		}
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("sandbox credentials: %w", err)
	}
	return c, nil
}

// LoadCredentials reads dir/credentials.env. The error is fs.ErrNotExist if there is none.
func LoadCredentials(dir string) (Credentials, error) {
	return readCredentials(filepath.Join(dir, credentialsFile))
}

func readCredentials(path string) (Credentials, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Credentials{}, err
	}
	var c Credentials
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = trimQuotes(value)
		switch strings.TrimPrefix(name, "export ") {
		case environmentName:
			c.EnvironmentID = value
		case accessKeyName:
			c.AccessKey = AccessKey(value)
		}
	}
	if c.EnvironmentID == "" || c.AccessKey == "" {
		return Credentials{}, fmt.Errorf("%s: %s or %s is missing", path, environmentName, accessKeyName)
	}
	return c, nil
}

// trimQuotes removes quotes that users add for their shell.
func trimQuotes(value string) string {
	for _, q := range []string{"'", `"`} {
		if inner, ok := strings.CutPrefix(value, q); ok && strings.HasSuffix(inner, q) {
			return strings.TrimSuffix(inner, q)
		}
	}
	return value
}

// createCredentials writes new credentials, unless the file exists meanwhile.
func createCredentials(path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".credentials-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	c := NewCredentials()
	_, err = fmt.Fprintf(f, "%s=%s\n%s=%s\n", environmentName, c.EnvironmentID, accessKeyName, string(c.AccessKey))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces the file of another process. Some file systems have no
	// links.
	err = os.Link(f.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		if err := os.Rename(f.Name(), path); err != nil {
			return err
		}
	}
	return datadir.SyncDir(dir)
}
