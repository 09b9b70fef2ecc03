// Package enrich requests descriptions, tags and translations for assets from the AI content
// service, and writes accepted proposals into the assets.
//
// Audit lists the assets of a destination and finds missing or poor descriptions. Plan returns
// which assets would be sent to the service, which are excluded, and why. Ask requests
// proposals; a person decides on each of them. Apply writes accepted proposals, and Undo
// restores the previous values. Neither overwrites later changes of other users.
//
// Every request costs money, so an asset is requested once. The ID of a conversation is stored
// before the conversation is created. After a crash, the next run uses that ID to look for the
// reply, deletes the conversation, and then removes the ID. Reviews and translations have no
// conversation, so their replies cannot be looked up: requests in progress during a crash are
// sent again.
//
// The package contains no SQL, no HTTP and no terminal output.
package enrich

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/clock"
	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// Library is the part of the destination that is needed for reading.
type Library interface {
	Categories(ctx context.Context) iter.Seq2[assets.Category, error]
	Folders(ctx context.Context) ([]assets.Folder, error)
	Folder(ctx context.Context, id string, depth int) (assets.Folder, error)
	List(ctx context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error]
	Asset(ctx context.Context, id string) (assets.Asset, error)
	Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error)
}

// Writer is the part of the destination that only Apply and Undo need.
type Writer interface {
	Update(ctx context.Context, id string, changes assets.Changes) (assets.Asset, error)
}

// Service is the part of the AI content service that the engine needs. Over returns one for an
// *ai.Client.
type Service interface {
	// Converse creates a conversation with an ID of the caller. The error is an fs.ErrExist if
	// the ID is in use.
	Converse(ctx context.Context, id string) error
	// Attach adds an image to a conversation and returns the ID of the file.
	Attach(ctx context.Context, conversation string, p Attachment) (file string, err error)
	// Ask sends a prompt with attached files and returns the complete reply. An error that
	// satisfies errors.Is(err, ErrAsked) may have been billed. A reply to it may exist or still
	// arrive, unless the error also satisfies errors.Is(err, ErrNoReply).
	Ask(ctx context.Context, conversation string, q Question) (string, error)
	// Exchange returns the messages of a conversation. The error is an fs.ErrNotExist if there
	// is none.
	Exchange(ctx context.Context, conversation string) (Exchange, error)
	// Forget deletes a conversation with its files. A deleted conversation is no error.
	Forget(ctx context.Context, conversation string) error
	// Review requests a review of HTML elements. It returns the changed ones by their data-id.
	// Errors are those of Ask.
	Review(ctx context.Context, review, html string, contexts []ai.ContextRef) (map[string]string, error)
	// Translate returns HTML in another language. Errors are those of Ask.
	Translate(ctx context.Context, html, language string, contexts []ai.ContextRef) (string, error)
	// Credits returns the credits used since a time. The error satisfies errors.Is(err,
	// errors.ErrUnsupported) if the service does not count them.
	Credits(ctx context.Context, since time.Time) (float64, error)
}

// An Attachment is an image to send.
type Attachment struct {
	Name string // with the extension of the type
	Type string // media type
	Data []byte
}

// A Question is a message to a model.
type Question struct {
	Prompt string
	Model  string
	Files  []string // IDs of attachments
	Pixels int      // total of the attached images

	Contexts []ai.ContextRef
}

// An Exchange summarizes the messages of a conversation.
type Exchange struct {
	Questions int    // messages sent; each is billed
	Reply     string // answer to the last message; "" if there is none yet
}

// Errors for callers.
var (
	// ErrAsked marks a request that may have been billed without a usable answer.
	ErrAsked = errors.New("the request may have been billed")
	// ErrNoReply says in addition to ErrAsked that no reply will arrive.
	ErrNoReply = errors.New("there is no reply")
	// ErrCreditLimit reports that a run ended at its credit limit.
	ErrCreditLimit = errors.New("the credit limit is reached")
	// ErrNoAudit reports that no audit of the destination is complete.
	ErrNoAudit = errors.New("there is no complete audit of the destination")
)

// A BreakerError reports that a run ended after identical failures in a row.
type BreakerError struct {
	Failures int
	Last     error
}

func (e *BreakerError) Error() string {
	return fmt.Sprintf("%d assets in a row failed in the same way; last error: %v", e.Failures, e.Last)
}

func (e *BreakerError) Unwrap() error { return e.Last }

// Hint returns the next step.
func (e *BreakerError) Hint() string {
	return "fix the cause, then run the same command again; the proposals so far are kept"
}

// Deps are the dependencies of the engine. A dependency that a method does not use may be nil.
type Deps struct {
	Store       *enrichment.Store
	Library     Library
	Writer      Writer  // for Apply and Undo
	Service     Service // for Ask
	Host        string  // of the service, for people and the state database; without secrets
	Destination string  // as in state.Pair
	Observer    Observer

	PerMinute      int64            // billable requests per minute, for estimates; 0: unlimited
	Concurrency    int              // assets at a time; 0: 4
	Stop           <-chan struct{}  // closed: no more work starts, work in progress is finished
	ConfirmTimeout time.Duration    // how long to wait for a lost reply; 0: DefaultConfirmTimeout
	Now            func() time.Time // nil: clock.Now
}

// DefaultConfirmTimeout is how long a run waits for a lost reply.
const DefaultConfirmTimeout = 30 * time.Second

// An Engine runs the commands. Its methods must not be called concurrently.
type Engine struct{ Deps }

// New returns an engine.
func New(d Deps) *Engine {
	if d.Observer == nil {
		d.Observer = Silent{}
	}
	if d.Concurrency <= 0 {
		d.Concurrency = 4
	}
	if d.ConfirmTimeout <= 0 {
		d.ConfirmTimeout = DefaultConfirmTimeout
	}
	if d.Now == nil {
		d.Now = clock.Now
	}
	return &Engine{d}
}

// draining returns a context under which no wait begins after Stop.
func (e *Engine) draining(ctx context.Context) context.Context { return retry.WithDrain(ctx, e.Stop) }

// An Observer receives the events of the engine. Its methods must not block, and several
// goroutines may call them.
type Observer interface {
	// Phase starts a phase: "audit", "describe", "review", "translate", "apply", "undo" or
	// "clean up". The number of assets is -1 if unknown.
	Phase(name string, assets int64)
	// Progress adds finished assets to the phase.
	Progress(assets int64)
	// Outcome reports the result for an asset after it is stored.
	Outcome(o Outcome)
}

// An Outcome is the result of an enrichment.
type Outcome struct {
	Asset    string
	Path     string // CATEGORY/FOLDER/NAME.ext; "" if the audit does not contain the asset
	Kind     enrichment.Kind
	Language string
	State    enrichment.State
	Proposal *enrichment.Proposal // nil if there is none
	Class    string               // of Error
	Error    string               // "" without an error
	Flagged  []string
}

// Silent is an Observer that ignores all events.
type Silent struct{}

// Phase does nothing.
func (Silent) Phase(string, int64) {}

// Progress does nothing.
func (Silent) Progress(int64) {}

// Outcome does nothing.
func (Silent) Outcome(Outcome) {}

// A Result summarizes a run.
type Result struct {
	Run     enrichment.Run // as stored in the state database
	States  map[enrichment.State]int64
	Stopped bool  // the run was stopped before all assets were done
	Left    int64 // conversations still at the service; the next run deletes them
}
