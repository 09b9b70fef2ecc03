package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/sources"
)

// ProvenanceAttribute is the custom attribute that says where an asset comes from.
const ProvenanceAttribute = metadata.Provenance

// Provenance is the value of that attribute: it recognises an asset of ours after
// the state database was lost, and reports no user the names of files. A copy of the asset
// has another id, and other content another checksum, so neither passes for it.
func Provenance(source string, key sources.Key, checksum []byte, asset string) string {
	identity := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(source), source, key))
	return "1." + hex.EncodeToString(identity[:16]) + "." + hex.EncodeToString(checksum[:8]) + "." + asset
}

// ProvenanceOf gives the provenance that an asset carries, or nothing.
func ProvenanceOf(a assets.Asset) string {
	mark, _ := a.Metadata.CustomAttributes[ProvenanceAttribute].(string)
	return mark
}
