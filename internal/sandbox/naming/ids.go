package naming

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
)

// NewAssetID gives 12 characters fit for addresses; as with the service, it may
// start with "-" or "_".
func NewAssetID() string { return base64.RawURLEncoding.EncodeToString(random(9)) }

// NewWorkspaceID gives 20 characters, as do the IDs of environments.
func NewWorkspaceID() string { return hex.EncodeToString(random(10)) }

// NewContentID names stored bytes. It is lower case for file systems that fold case.
func NewContentID() string { return hex.EncodeToString(random(16)) }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
