package sandbox

import (
	"io"

	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/tokens"
)

// MarkerFile is in every directory of a sandbox: see [datadir.MarkerFile].
const MarkerFile = datadir.MarkerFile

// ErrInUse says that another sandbox has the directory.
var ErrInUse = datadir.ErrInUse

// Secure refuses a directory that others could have written to: see [datadir.Secure].
func Secure(dir string) (repaired []string, err error) { return datadir.Secure(dir) }

// An AccessKey signs tokens; Credentials are what a client needs to do so.
type (
	AccessKey   = tokens.AccessKey
	Credentials = tokens.Credentials
)

// NewCredentials makes credentials up.
func NewCredentials() Credentials { return tokens.NewCredentials() }

// LoadCredentials reads those in a directory: see [tokens.LoadCredentials].
func LoadCredentials(dir string) (Credentials, error) { return tokens.LoadCredentials(dir) }

// LoadOrCreateCredentials reads those in a directory, or makes some up: see
// [tokens.LoadOrCreateCredentials].
func LoadOrCreateCredentials(dir string) (Credentials, error) {
	return tokens.LoadOrCreateCredentials(dir)
}

// A Profile says what a service does where its documentation is silent; Limits are those of a
// plan.
type (
	Profile = profile.Profile
	Limits  = profile.Limits
)

// ReadProfile reads a profile in YAML: see [profile.Read].
func ReadProfile(name string, r io.Reader) (Profile, error) { return profile.Read(name, r) }

// ReadProfileInto reads a profile of another service: see [profile.ReadInto].
func ReadProfileInto(name string, r io.Reader, p interface {
	Check() (key string, err error)
}) error {
	return profile.ReadInto(name, r, p)
}
