package migrate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
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

// A PlanHash is the hash that a person approves: of the head of a plan and every item, in key
// order. It depends on nothing else, so the same plan has the same hash in every state database and
// on every day.
type PlanHash struct{ sum hash.Hash }

// NewPlanHash begins with the head of a plan.
func NewPlanHash(head PlanHead) (*PlanHash, error) {
	rules, err := roundTrip(head.Rules)
	if err != nil {
		return nil, err
	}
	categories, err := roundTrip(head.Categories)
	if err != nil {
		return nil, err
	}
	h := &PlanHash{sha256.New()}
	h.texts(head.Source, head.SourceLocation, head.Destination, rules, categories)
	h.numbers(head.Unchanged, head.UnchangedBytes)
	if head.Metadata != "" { // without a table, the hash is that of older versions
		h.texts("metadata", head.Metadata)
	}
	return h, nil
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

// Add adds an item: its action, the version of its object, and its place.
func (h *PlanHash) Add(i state.Item) {
	h.texts(string(i.Key), i.VersionTag, string(i.Action), i.Reason, i.Category, i.Folder, i.Name, i.Asset)
	h.numbers(i.Size, unixNano(i.Time))
}

// Sum returns the hash in hexadecimal digits.
func (h *PlanHash) Sum() string { return hex.EncodeToString(h.sum.Sum(nil)) }

// texts adds texts, each with its length, so that they cannot run together.
func (h *PlanHash) texts(all ...string) {
	for _, t := range all {
		h.sum.Write(binary.AppendUvarint(nil, uint64(len(t))))
		_, _ = io.WriteString(h.sum, t) // a hash takes everything
	}
}

func (h *PlanHash) numbers(all ...int64) {
	for _, n := range all {
		h.sum.Write(binary.AppendVarint(nil, n))
	}
}

// unixNano returns a number for every time, also for an unknown one.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixNano()
}
