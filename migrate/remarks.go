package migrate

import (
	"slices"
	"strings"

	"assetferry/internal/mapping"
	"assetferry/state"
)

// RemarkEditsKept begins the remark on a finished item whose asset keeps edits of users, although
// the source has new metadata.
const RemarkEditsKept = "edits at the destination are kept"

// RemarkEmbedded begins the remark on embedded metadata that could not be read.
const RemarkEmbedded = "embedded: "

// tooLong is in the error of an item with a text that is longer than the service allows and must
// not be cut.
const tooLong = "characters, and the service accepts"

// IsTooLong reports whether an item failed because a text of its metadata is longer than the
// service allows. A retry fails in the same way.
func IsTooLong(i state.Item) bool {
	return i.State == state.ItemFailed && strings.Contains(i.Error, tooLong)
}

// TooLongRemedy returns the next step for an item that [IsTooLong], with settings in braces.
func TooLongRemedy() string { return (&mapping.LimitError{}).Remedy() }

// FailureRemedy returns the next step for a failed item that fails again in the next run, with settings
// in braces; "" for all others.
func FailureRemedy(i state.Item) string {
	switch {
	case IsTooLong(i):
		return TooLongRemedy()
	case IsRefused(i):
		return ReasonScanRefused.Remedy()
	}
	return ""
}

// IsRefused reports whether an item failed because a scan refused its content.
func IsRefused(i state.Item) bool {
	return i.State == state.ItemFailed && i.Class == state.ClassRefused
}

// RemarkCopyMetadata begins the remark on a duplicate that shares the asset of another object,
// although a table or a sidecar has metadata of the duplicate.
const RemarkCopyMetadata = "its metadata in a table or sidecar is not used"

// RemarkNotKept begins the remark on a finished item whose storage metadata was not stored.
const RemarkNotKept = "its metadata from the source was not kept"

// RemarkListedSize begins the remark on a finished item whose content has another size than its storage
// lists.
const RemarkListedSize = "the storage lists another size than that of the content"

// ErrorMetadataNotWritten begins the error of an item whose asset is uploaded, but whose metadata
// could not be written.
const ErrorMetadataNotWritten = "the asset is uploaded, but its metadata is not written"

// JoinTexts joins the non-empty texts with semicolons.
func JoinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

// RemarkVersionsOmitted begins the remark on an object with the older versions that its run did not
// bring.
const RemarkVersionsOmitted = "older versions omitted: "

// RemarkSentAsNew begins the remark on an object whose new content is in a new asset.
const RemarkSentAsNew = "uploaded as a new asset"

// RemarkBadSidecar is in the remark on an object with an unreadable sidecar, after the key of the
// sidecar.
const RemarkBadSidecar = "was not read"
