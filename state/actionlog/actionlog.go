// Package actionlog is the action log of a state database: what commands did, who ran them, and
// with which settings. Each entry contains the checksum of the previous one, so that a later change
// of an entry is found.
//
// An entry is stored as the line that an export contains. Its checksum is that of this line with
// its line feed, so that sha256sum verifies an export without this program. The entries of a state
// database cannot be changed or deleted, and do not contain keys of objects: they stay valid when
// the records of an object are deleted.
package actionlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// A Kind is the kind of an action.
type Kind string

// The kinds of actions.
const (
	RunStarted         Kind = "run_started"         // a command starts or resumes the changes of a run
	RunAbandoned       Kind = "run_abandoned"       // an unfinished run is not resumed any more
	UndoStarted        Kind = "undo_started"        // the same for an undo
	PlanApproved       Kind = "plan_approved"       // an approver is recorded for a plan
	SafetyCheck        Kind = "safety_check"        // a safety check stops a run or a part of it
	Verified           Kind = "verified"            // the destination was compared with the state database
	URLsChecked        Kind = "urls_checked"        // new URLs were requested
	RunPruned          Kind = "run_pruned"          // the items of an old run are deleted
	OwnershipTaken     Kind = "ownership_taken"     // state takeover
	EnrichmentStarted  Kind = "enrichment_started"  // enrich sends requests or writes proposals
	CertificateCreated Kind = "certificate_created" // the state of the migration was sealed
	ObjectsForgotten   Kind = "objects_forgotten"   // all data about some objects was deleted
	ObjectsReadmitted  Kind = "objects_readmitted"  // forgotten objects may be uploaded again
)

// Kinds lists all kinds with their meanings, for the help.
func Kinds() []Kind {
	return []Kind{RunStarted, RunAbandoned, UndoStarted, PlanApproved, SafetyCheck, Verified, URLsChecked, RunPruned, OwnershipTaken,
		EnrichmentStarted, CertificateCreated, ObjectsForgotten, ObjectsReadmitted}
}

// Details are more facts about an action: numbers, IDs, checksums and names of people.
type Details map[string]any

// Number returns a number of an entry that a Chain has read; 0 if there is none.
func (d Details) Number(name string) int64 {
	text, _ := d[name].(json.Number)
	n, _ := text.Int64()
	return n
}

// An Entry is one action.
type Entry struct {
	Number   int64     `json:"number"` // from 1
	Previous string    `json:"previous_sha256"`
	StateID  string    `json:"state_id"`
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`
	Run      string    `json:"run,omitempty"`
	Account  string    `json:"account"`
	Host     string    `json:"host"`
	Actor
	Details Details `json:"details,omitempty"`
}

// An Actor is the command that acts.
type Actor struct {
	Version   string   `json:"version"`
	Command   string   `json:"command"`                 // the command line, without secrets and keys
	Config    string   `json:"config_sha256,omitempty"` // checksum of the configuration file
	Overrides []string `json:"overrides,omitempty"`     // flags that pass a safety check or a question
}

// Encode returns the line of an entry, without its line feed. Keys of details are sorted, and
// invisible characters are escaped.
func (e Entry) Encode() (string, error) {
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Checksum returns the checksum of a line, as sha256sum prints it for the line with its line feed.
func Checksum(line string) string {
	h := sha256.New()
	h.Write([]byte(line))
	h.Write([]byte{'\n'})
	return hex.EncodeToString(h.Sum(nil))
}

// First is the checksum that the first entry names as its previous one.
const First = "0000000000000000000000000000000000000000000000000000000000000000"

// A Head is the end of a log: the number of its entries, and the checksum of the last one.
type Head struct {
	Entries  int64  `json:"entries"`
	Checksum string `json:"sha256"`
}

// A Record is an entry as it is stored.
type Record struct {
	Line     string
	Checksum string
}

// Append returns the record of an entry that follows a head, and the new head.
func (h Head) Append(e Entry) (Record, Head, error) {
	e.Number, e.Previous = h.Entries+1, h.Checksum
	if h.Entries == 0 {
		e.Previous = First
	}
	line, err := e.Encode()
	if err != nil {
		return Record{}, h, err
	}
	r := Record{line, Checksum(line)}
	return r, Head{e.Number, r.Checksum}, nil
}

type actorKey struct{}

// WithActor returns a context whose writes name the command that acts.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the command that acts; it is zero in tests.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
