// Package certificate seals the state of a migration in a signed file, and verifies such files
// without a state database, a key or a network.
//
// A certificate is a DSSE envelope with one signature of an Ed25519 key. Its payload is JSON: the
// runs with their plans and approvals, the counts, the verification, and the root of a Merkle tree
// over the records of all assets. These records are in a list beside the certificate, see [List]. A
// file is accepted only byte by byte as this package writes it, so that any change is found.
package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assetferry/state/actionlog"
)

// PayloadType is the type of the payload of an envelope.
const PayloadType = "application/vnd.assetferry.certificate+json"

const (
	kind    = "assetferry-certificate"
	version = 1
	// MaxBytes is the maximum size of a certificate, much more than any that is written.
	MaxBytes = 16 << 20
)

// ErrChanged reports a file that is not as this package wrote it.
var ErrChanged = errors.New("it was changed after it was written")

// A Certificate is the payload.
type Certificate struct {
	Type      string    `json:"type"`
	Version   int       `json:"version"`
	Tool      string    `json:"tool_version"`
	CreatedAt time.Time `json:"created_at"`
	Signer    Signer    `json:"signer"`

	Verdict        Verdict `json:"verdict"`
	Source         string  `json:"source"`
	Destination    string  `json:"destination"` // environment and workspace
	DestinationURL string  `json:"destination_url"`
	Sandbox        bool    `json:"sandbox"`
	Scope          Scope   `json:"scope"`

	Assets        Assets       `json:"assets"`
	Listed        Amount       `json:"listed"` // by the last run
	Results       []Count      `json:"results"`
	Problems      []Count      `json:"problems"`
	Skipped       []Count      `json:"skipped"`
	EarlierFailed int64        `json:"missing_from_earlier_runs"`
	Verification  Verification `json:"verification"`
	URLs          *URLCheck    `json:"urls_checked,omitempty"` // nil if they were not checked
	Undo          Undo         `json:"undo"`
	Runs          []Run        `json:"runs"` // oldest first, without plans

	Log actionlog.Head `json:"action_log"` // its last entry records this certificate
}

// A Signer is the key that signs. Its forms are of the same key.
type Signer struct {
	Fingerprint string `json:"fingerprint"` // as ssh-keygen -l shows it
	SSHKey      string `json:"ssh_key"`
	PEM         string `json:"public_key"` // for openssl
}

// The kinds of scopes.
const (
	ScopeSource = "source" // the whole source
	ScopeWave   = "wave"   // the objects of one wave
	ScopeWaves  = "waves"  // the objects of all waves of the configuration
)

// A Scope is the part of the source that a certificate covers. It says nothing about other objects.
type Scope struct {
	Kind    string   `json:"kind"`
	Waves   []Wave   `json:"waves,omitempty"`
	Include []string `json:"include,omitempty"` // globs of the last run
	Exclude []string `json:"exclude,omitempty"`
}

// A Wave is a part of a source with runs of its own, and the result of the last one.
type Wave struct {
	Name    string   `json:"name"`
	Folders []string `json:"folders,omitempty"`
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	Omitted []string `json:"omitted,omitempty"` // globs that the last run excluded
	Run     string   `json:"run,omitempty"`     // empty if there is none
	Result  string   `json:"result"`
}

// A Verdict is the result of the migration. Only a complete and verified migration is complete.
type Verdict struct {
	Complete bool   `json:"complete"`
	Kind     string `json:"kind"` // a code of the report
	Title    string `json:"title"`
	Message  string `json:"message"`
}

// Assets summarizes the list of assets.
type Assets struct {
	Amount
	Root string `json:"merkle_root_sha256"` // see RFC 6962, section 2.1
}

// An Amount is a number of objects and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// A Count counts objects in a state, for a reason.
type Count struct {
	Action string `json:"action,omitempty"`
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	Amount
}

// A Verification is the last comparison with the destination.
type Verification struct {
	Level       string     `json:"level"` // none if there was none
	At          *time.Time `json:"at,omitempty"`
	Differences int64      `json:"differences"`
	Verified    int64      `json:"verified"`
	ByChecksum  int64      `json:"verified_by_checksum"`
	NotVerified int64      `json:"not_verified"`
}

// A URLCheck is the last request of new URLs.
type URLCheck struct {
	At       time.Time `json:"at"`
	Checked  int64     `json:"checked"`
	Wrong    int64     `json:"wrong"`    // do not lead to their assets
	Readable int64     `json:"readable"` // of private assets, without credentials
}

// An Undo is how long the last run can be undone.
type Undo struct {
	Possible bool       `json:"possible"`
	Until    *time.Time `json:"until,omitempty"` // nil: no limit of this program
	Message  string     `json:"message"`
}

// A Run is a run that changed the destination, or could have.
type Run struct {
	ID         string     `json:"id"`
	Command    string     `json:"command"`
	Wave       string     `json:"wave,omitempty"` // of the source; empty if the run covered all of it
	State      string     `json:"state"`
	PlanHash   string     `json:"plan_sha256"`
	StartedBy  string     `json:"started_by"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Approver   string     `json:"approver,omitempty"`
	Key        string     `json:"approval_key,omitempty"` // fingerprint of the key that signed the approval
	StatedBy   string     `json:"approval_stated_by,omitempty"`
	ApprovedAt *time.Time `json:"approved_at,omitempty"`
	Undoes     string     `json:"undoes,omitempty"`    // the run that it undoes
	Overrides  []string   `json:"overrides,omitempty"` // flags that passed a safety check or a question, from the action log
	Counts     []Count    `json:"counts"`
}

// encode returns the only accepted form of a value, without a line feed.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decode reads a value in the only accepted form.
func decode[T any](text []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	again, err := encode(v)
	if err == nil && !bytes.Equal(again, text) {
		err = fmt.Errorf("%w: it has another spelling", ErrChanged)
	}
	return v, err
}
