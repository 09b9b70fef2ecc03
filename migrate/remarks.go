package migrate

import (
	"slices"
	"strings"

	"assetferry/internal/mapping"
	"assetferry/state"
)

// RemarkEditsKept begins the remark on an item that is done, but where what people wrote at the
// destination stays although the source says something new.
const RemarkEditsKept = "edits at the destination are kept"

// RemarkEmbedded begins the remark on metadata in the content of an object that could not be read.
const RemarkEmbedded = "embedded: "

// tooLong is in the error of an item of which a text is longer than the service takes it and
// must not be cut.
const tooLong = "characters, and the service takes"

// IsTooLong reports whether an item failed because a text of its metadata is longer than the
// service takes. No other try changes that.
func IsTooLong(i state.Item) bool {
	return i.State == state.ItemFailed && strings.Contains(i.Error, tooLong)
}

// TooLongRemedy returns the next step for an item that [IsTooLong], with settings in braces.
func TooLongRemedy() string { return (&mapping.LimitError{}).Remedy() }

// RemarkCopyMetadata begins the remark on a duplicate that shares the asset of another object,
// where a table or a sidecar describes the duplicate.
const RemarkCopyMetadata = "its metadata in a table or sidecar is not used"

// RemarkNotKept begins the remark on an item that is done, but of which the state database lacks
// what the source has with its object.
const RemarkNotKept = "its metadata from the source was not kept"

// JoinTexts joins texts for people with semicolons, without those that are empty.
func JoinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

// RemarkSentAsNew begins the remark on an object whose new content is in another asset.
const RemarkSentAsNew = "uploaded as a new asset"

// RemarkBadSidecar is in the remark on an object that has a sidecar which cannot be read, after the
// key of that.
const RemarkBadSidecar = "was not read"
