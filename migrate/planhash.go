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

// A PlanHead is what a plan says besides its items.
type PlanHead struct {
	Source         string // its name in the state database
	SourceLocation string // where it is read, which is another text if the user gave it a name
	Destination    string
	Rules          Rules
	Categories     []NewCategory // to be made
	// Metadata is the checksum of the table that describes objects; empty: there is none.
	Metadata string
	// Unchanged objects are no items of a plan.
	Unchanged, UnchangedBytes int64
}

// A PlanHash sums up what a person approves: the head of a plan and every item of it,
// in key order. It depends on nothing else, so a plan has the same hash wherever it is
// written down, and on every day on which it says the same.
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
	if head.Metadata != "" { // else the hash is that of plans before there was one in it
		h.texts("metadata", head.Metadata)
	}
	return h, nil
}

// roundTrip gives the JSON of a value that was written as JSON before: globs that are
// not valid UTF-8 are not the same after that.
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

// Add adds an item: what happens to which version of an object, and where it goes.
func (h *PlanHash) Add(i state.Item) {
	h.texts(string(i.Key), i.VersionTag, string(i.Action), i.Reason, i.Category, i.Folder, i.Name, i.Asset)
	h.numbers(i.Size, unixNano(i.Time))
}

// Sum gives the hash in hexadecimal digits.
func (h *PlanHash) Sum() string { return hex.EncodeToString(h.sum.Sum(nil)) }

// texts adds texts, each with its length, which keeps them apart.
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

// unixNano is a number for every time, also for one that is not known.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixNano()
}
