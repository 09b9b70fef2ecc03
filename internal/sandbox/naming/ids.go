package naming

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
)

// NewAssetID returns 12 characters for URLs. Like at the service, it can start with "-" or "_".
func NewAssetID() string { return base64.RawURLEncoding.EncodeToString(random(9)) }

// NewWorkspaceID returns 20 characters, like the IDs of environments.
func NewWorkspaceID() string { return hex.EncodeToString(random(10)) }

// NewContentID returns a name for stored bytes, in lower case for file systems that ignore
// case.
func NewContentID() string { return hex.EncodeToString(random(16)) }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
