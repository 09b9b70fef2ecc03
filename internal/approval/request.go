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
	// MaxRequest is the maximum size of a request in bytes.
	MaxRequest = 1 << 20
)

// The kinds of requests. A signed request allows:
const (
	KindPlan    = "plan"    // one plan to be applied
	KindUndo    = "undo"    // one run to be undone
	KindSync    = "sync"    // a standing approval: syncs with these rules and limits
	KindCommand = "command" // one command with exactly these arguments
)

// A Request is what an approver signs. It is readable, and accepted only in its canonical form, byte
// by byte. So the approver sees exactly what counts: no duplicate key, no other spelling and no
// invisible text.
type Request struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Kind    string `json:"kind"`

	Destination    string `json:"destination"` // environment and workspace
	DestinationURL string `json:"destination_url"`
	Source         Text   `json:"source,omitempty"`
	SourceURL      Text   `json:"source_url,omitempty"` // URL or path

	Plan    *PlanRequest `json:"plan,omitempty"`
	Run     string       `json:"run,omitempty"` // run to undo
	Sync    *SyncRequest `json:"sync,omitempty"`
	Command []Text       `json:"command,omitempty"`
	Content string       `json:"content_sha256,omitempty"` // of the input of the command

	PlannedBy   string    `json:"planned_by"`   // the account that made the plan
	RequestedBy string    `json:"requested_by"` // the account that wrote the request
	RequestedAt time.Time `json:"requested_at"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// A PlanRequest identifies a plan. Its actions match those of the plan.
type PlanRequest struct {
	Hash       string                  `json:"hash"`
	Run        string                  `json:"run"`            // run that made it
	Wave       Text                    `json:"wave,omitempty"` // "": not the plan of a wave
	Actions    map[state.Action]Amount `json:"actions"`
	Provenance string                  `json:"provenance"` // see --provenance; not part of a plan
}

// A SyncRequest contains rules and limits. The hash covers the rules; some of them are hashes
// themselves.
type SyncRequest struct {
	RulesHash string   `json:"rules_sha256"`
	Rules     []string `json:"rules"`
	Mapping   []string `json:"mapping,omitempty"` // the lines of its file
	Limits    Limits   `json:"limits"`
}

// Limits are the maximum changes of a sync in one run.
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

// Looser lists the limits that exceed the approved ones.
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

// ErrRequest reports data that is not a request in its canonical form.
var ErrRequest = errors.New("this is not an approval request that assetferry wrote")

// Encode returns the canonical form of a request.
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

// visible escapes invisible characters, such as those that change the direction of text. They occur
// in strings only.
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

// ParseRequest reads a request. Any other form than the canonical one is an ErrRequest.
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

// check fails unless a request has exactly the part of its kind.
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
		return fmt.Errorf("%w: it is incomplete", ErrRequest)
	}
	return nil
}

// IsRequest reports whether a file begins like a request or is empty.
func IsRequest(r io.Reader) (bool, error) {
	begin := "{\n  \"type\": \"" + requestType + "\""
	head, err := io.ReadAll(io.LimitReader(r, int64(len(begin))))
	return len(head) == 0 || string(head) == begin, err
}

// Text is any sequence of bytes.
type Text = text

// Words returns words in the form of a request.
func Words(words []string) (all []Text) {
	for _, w := range words {
		all = append(all, Text(w))
	}
	return all
}

// SameName reports whether an approver and an account, written as name@host, have the same name. The
// whole names may be equal, or the parts before the @: the approver ada@example.com is the account
// ada@build01. Case and the domain of a Windows account (DOMAIN\ada) do not matter.
func SameName(approver, account string) bool {
	return strings.EqualFold(approver, account) || strings.EqualFold(localPart(approver), localPart(account))
}

func localPart(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name[strings.LastIndexByte(name, '\\')+1:]
}
