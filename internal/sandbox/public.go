package sandbox

import (
	"assetferry/internal/sandbox/datadir"
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
