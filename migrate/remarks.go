package migrate

import (
	"slices"
	"strings"

	"assetferry/internal/mapping"
	"assetferry/state"
)

// KeptEdits begins the remark on an item that is done, but where what people wrote at the
// destination stays although the source says something new.
const KeptEdits = "what people wrote at the destination stays"

const Embedded = "embedded: "

// tooLong is in the error of an item of which a text is longer than the service takes it and
// must not be cut.
const tooLong = "characters, and the service takes"

// IsTooLong reports whether an item failed for that: no other try changes it.
func IsTooLong(i state.Item) bool {
	return i.State == state.ItemFailed && strings.Contains(i.Error, tooLong)
}

// TooLongRemedy is what helps then, with settings in braces.
func TooLongRemedy() string { return (&mapping.LimitError{}).Remedy() }

// Absent is that mark as the journal has it.
const Absent = string(ObstacleAbsent)

// LeftUnsaid begins the remark on a copy of which somebody wrote something down.
const LeftUnsaid = "what describes it in a table or a sidecar went nowhere"

// NotKept begins the remark on an item that is done, but of which the journal lacks
// what the source has with its object.
const NotKept = "what the source has with it was not kept"

// Joined puts texts for people together, of which some may be empty.
func Joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

// SentAnew begins the remark on an object whose new content is in another asset.
const SentAnew = "sent as a new asset"

// NotTaken is in the remark on an object that has a sidecar which cannot be read, after the
// key of that.
const NotTaken = "says was not taken"
