package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"assetferry/state"
)

const (
	requestType    = "assetferry-approval-request"
	requestVersion = 1
	// MaxRequest is how many bytes a request may have.
	MaxRequest = 1 << 20
)

// The kinds of requests: each says what may be done once it is signed.
const (
	KindPlan    = "plan"    // to carry out one plan
	KindUndo    = "undo"    // to undo one run
	KindSync    = "sync"    // a standing approval: syncs under these rules, within these limits
	KindCommand = "command" // one command with exactly these arguments
)

// A Request is what an approver signs. It is written for people to read, and read back only
// if it is byte by byte as it is written here: so what an approver reads is what counts, and
// there is no second key, odd spelling or invisible text in it.
type Request struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Kind    string `json:"kind"`

	Destination    string `json:"destination"` // environment and workspace
	DestinationURL string `json:"destination_url"`
	Source         Text   `json:"source,omitempty"`
	SourceURL      Text   `json:"source_url,omitempty"` // or its path

	Plan    *PlanRequest `json:"plan,omitempty"`
	Run     string       `json:"run,omitempty"` // that is undone
	Sync    *SyncRequest `json:"sync,omitempty"`
	Command []Text       `json:"command,omitempty"`
	Content string       `json:"content_sha256,omitempty"` // of what the command works on

	PlannedBy   string    `json:"planned_by"`   // the account that made the plan
	RequestedBy string    `json:"requested_by"` // the account that wrote the request
	RequestedAt time.Time `json:"requested_at"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// A PlanRequest names a plan. The actions say the same as the plan itself.
type PlanRequest struct {
	Hash       string                  `json:"hash"`
	Run        string                  `json:"run"` // that made it
	Actions    map[state.Action]Amount `json:"actions"`
	Provenance string                  `json:"provenance"` // see --provenance; no plan has it
}

// A SyncRequest names rules and limits. The rules say the same as their hash, as far as they
// are not hashes themselves.
type SyncRequest struct {
	RulesHash string   `json:"rules_sha256"`
	Rules     []string `json:"rules"`
	Mapping   []string `json:"mapping,omitempty"` // the lines of the file that has it
	Limits    Limits   `json:"limits"`
}

// Limits are how much a sync may change in a run.
type Limits struct {
	MaxDelete         int64   `json:"max_delete"`
	MaxDeletePercent  float64 `json:"max_delete_percent"`
	AcceptDeletes     int64   `json:"accept_deletes"`
	MaxChanges        int64   `json:"max_changes"`
	MaxChangesPercent float64 `json:"max_changes_percent"`
	AcceptChanges     int64   `json:"accept_changes"`
	AcceptRules       bool    `json:"accept_rules"`
	Sentinel          string  `json:"sentinel"`
}

// Looser names the limits that are looser than those that were approved.
func (l Limits) Looser(approved Limits) (looser []string) {
	for _, limit := range []struct {
		flag         string
		is, approved float64
	}{
		{"max-delete", float64(l.MaxDelete), float64(approved.MaxDelete)},
		{"max-delete-percent", l.MaxDeletePercent, approved.MaxDeletePercent},
		{"accept-deletes", float64(l.AcceptDeletes), float64(approved.AcceptDeletes)},
		{"max-changes", float64(l.MaxChanges), float64(approved.MaxChanges)},
		{"max-changes-percent", l.MaxChangesPercent, approved.MaxChangesPercent},
		{"accept-changes", float64(l.AcceptChanges), float64(approved.AcceptChanges)},
	} {
		if !(limit.is <= limit.approved) {
			looser = append(looser, fmt.Sprintf("--%s is %v, approved is %v", limit.flag, limit.is, limit.approved))
		}
	}
	if l.AcceptRules && !approved.AcceptRules {
		looser = append(looser, "--accept-rules is not approved")
	}
	if approved.Sentinel != "" && l.Sentinel != approved.Sentinel {
		looser = append(looser, fmt.Sprintf("--sentinel is %q, approved is %q", l.Sentinel, approved.Sentinel))
	}
	return looser
}

// ErrRequest says that something is not a request as it is written here.
var ErrRequest = errors.New("this is not an approval request as assetferry wrote it")

// Encode writes a request.
func (r Request) Encode() ([]byte, error) {
	r.Type, r.Version = requestType, requestVersion
	r.RequestedAt, r.ExpiresAt = r.RequestedAt.UTC().Truncate(time.Second), r.ExpiresAt.UTC().Truncate(time.Second)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("write approval request: %w", err)
	}
	return visible(b.Bytes()), nil
}

// visible escapes what cannot be seen in JSON, such as marks that turn text around: it can
// only be in its strings.
func visible(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// ParseRequest reads a request. It is an ErrRequest if it is not one, byte by byte.
func ParseRequest(data []byte) (r Request, err error) {
	var kind struct {
		Type    string `json:"type"`
		Version int    `json:"version"`
	}
	if len(data) > MaxRequest || json.Unmarshal(data, &kind) != nil || kind.Type != requestType {
		return r, ErrRequest
	}
	if kind.Version != requestVersion {
		return r, fmt.Errorf("%w: its version is %d, not %d", ErrRequest, kind.Version, requestVersion)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Request{}, fmt.Errorf("%w: %w", ErrRequest, readable(err))
	}
	again, err := r.Encode()
	if err != nil || !bytes.Equal(again, data) {
		return Request{}, fmt.Errorf("%w: it was edited", ErrRequest)
	}
	return r, r.check()
}

// check makes sure that a request has the part of its kind, and no other.
func (r Request) check() error {
	parts := map[string]bool{KindPlan: r.Plan != nil, KindUndo: r.Run != "", KindSync: r.Sync != nil, KindCommand: len(r.Command) > 0}
	has, known := parts[r.Kind]
	n := 0
	for _, there := range parts {
		if there {
			n++
		}
	}
	if !known || !has || n != 1 || r.Destination == "" || r.PlannedBy == "" || r.ExpiresAt.IsZero() {
		return fmt.Errorf("%w: it is not complete", ErrRequest)
	}
	return nil
}

// IsRequest reports whether a file begins as a request does, or is empty.
func IsRequest(r io.Reader) (bool, error) {
	begin := "{\n  \"type\": \"" + requestType + "\""
	head, err := io.ReadAll(io.LimitReader(r, int64(len(begin))))
	return len(head) == 0 || string(head) == begin, err
}

// Text is any sequence of bytes.
type Text = text

// Words gives words as a request has them.
func Words(words []string) (all []Text) {
	for _, w := range words {
		all = append(all, Text(w))
	}
	return all
}

// SameName reports whether the name of an approver is that of an account, which is written
// as name@host. Names are the same if the whole is, or what comes before the @: the approver
// ada@example.com is the account ada@build01. The case of letters does not count, nor the
// domain of an account of Windows, DOMAIN\ada.
func SameName(approver, account string) bool {
	return strings.EqualFold(approver, account) || strings.EqualFold(localPart(approver), localPart(account))
}

func localPart(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name[strings.LastIndexByte(name, '\\')+1:]
}
