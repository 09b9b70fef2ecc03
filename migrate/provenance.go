package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/sources"
)

// ProvenanceAttribute is the custom attribute that identifies the source of an asset.
const ProvenanceAttribute = metadata.Provenance

// Provenance returns the value of that attribute. It identifies an asset of ours after the state
// database was lost, and reveals no file names. A copy of the asset has another ID, and other
// content another checksum, so neither matches.
func Provenance(source string, key sources.Key, checksum []byte, asset string) string {
	identity := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(source), source, key))
	return "1." + hex.EncodeToString(identity[:16]) + "." + hex.EncodeToString(checksum[:8]) + "." + asset
}

// MayBeProvenance reports whether a provenance is that of an object and an asset with some content.
func MayBeProvenance(mark, source string, key sources.Key, asset string) bool {
	ours := Provenance(source, key, make([]byte, 8), asset)
	const checksum, after = len("1.") + 2*16 + len("."), len("1.") + 2*16 + len(".") + 2*8
	return len(mark) == len(ours) && mark[:checksum] == ours[:checksum] && mark[after:] == ours[after:]
}

// ProvenanceOf returns the provenance of an asset, "" if it has none.
func ProvenanceOf(a assets.Asset) string {
	mark, _ := a.Metadata.CustomAttributes[ProvenanceAttribute].(string)
	return mark
}
