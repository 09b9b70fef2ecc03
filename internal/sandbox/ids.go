package sandbox

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"

	"assetferry/internal/sandbox/standin"
)

// newAssetID gives 12 characters fit for addresses; as with the service, it may
// start with "-" or "_".
func newAssetID() string { return base64.RawURLEncoding.EncodeToString(random(9)) }

// newWorkspaceID gives 20 characters, as do the IDs of environments.
func newWorkspaceID() string { return hex.EncodeToString(random(10)) }

// newContentID names stored bytes. It is lower case for file systems that fold case.
func newContentID() string { return hex.EncodeToString(random(16)) }

// newUUID gives a random UUID (version 4).
func newUUID() string { return standin.NewUUID() }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
