package migrate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"time"

	"assetferry/state"
)

// A PlanHead contains the parts of a plan besides its items.
type PlanHead struct {
	Source         string // its name in the state database
	SourceLocation string // its path or URL; differs from Source if the user named the source
	Destination    string
	Rules          Rules
	Categories     []NewCategory // to be made
	// Metadata is the checksum of the metadata table; empty if there is none.
	Metadata string
	// Unchanged objects are no items of a plan.
	Unchanged, UnchangedBytes int64
}

// A PlanHash is the hash that a person approves: of every item of a plan, in key order, and of its
// head, which is known last. It depends on nothing else, so the same plan has the same hash in every
// state database and on every day.
type PlanHash struct {
	sum hash.Hash
	buf []byte // of one item
}

// The bytes before each part of a plan, so that an item cannot be taken for the head.
const (
	beforeHead byte = iota
	beforeItem
)

// NewPlanHash begins with a plan without items.
func NewPlanHash() *PlanHash { return &PlanHash{sum: sha256.New()} }

// Add adds an item: its action, the version of its object, and its place.
func (h *PlanHash) Add(i *state.Item) {
	b := append(h.buf[:0], beforeItem)
	b = appendTexts(b, string(i.Key), i.VersionTag, string(i.Action), i.Reason, i.Category, i.Folder, i.Name, i.Asset)
	h.buf = appendNumbers(b, i.Size, unixNano(i.Time))
	h.sum.Write(h.buf) // a hash takes everything
}

// Sum adds the head and returns the hash in hexadecimal digits.
func (h *PlanHash) Sum(head PlanHead) (string, error) {
	rules, err := roundTrip(head.Rules)
	if err != nil {
		return "", err
	}
	categories, err := roundTrip(head.Categories)
	if err != nil {
		return "", err
	}
	b := []byte{beforeHead}
	b = appendTexts(b, head.Source, head.SourceLocation, head.Destination, rules, categories, head.Metadata)
	h.sum.Write(appendNumbers(b, head.Unchanged, head.UnchangedBytes))
	return hex.EncodeToString(h.sum.Sum(nil)), nil
}

// roundTrip returns the JSON of a value after it was decoded from JSON: globs that are not valid
// UTF-8 change by that.
func roundTrip[T any](v T) (string, error) {
	var once T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &once)
	}
	if err == nil {
		text, err = json.Marshal(once)
	}
	if err != nil {
		return "", fmt.Errorf("hash plan: %w", err)
	}
	return string(text), nil
}

// appendTexts appends texts, each with its length, so that they cannot run together.
func appendTexts(b []byte, all ...string) []byte {
	for _, t := range all {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	return b
}

func appendNumbers(b []byte, all ...int64) []byte {
	for _, n := range all {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// unixNano returns a number for every time, also for an unknown one.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixNano()
}
