// Package enrich is the engine that has the AI content service propose descriptions, tags
// and translations for assets, and that writes into assets what people accepted of it.
//
// Survey lists the assets of a destination and finds those whose descriptions are missing
// or no good. Plan says which of them would leave for the service, which are held back, and
// why. Describe, Review and Translate ask for proposals; every one of them waits for the
// verdict of a person. Apply writes what was accepted, Undo takes back what was written, and
// neither ever does so over what somebody else wrote since.
//
// Every call costs money, so an asset is asked about once. The id of a conversation is
// durable before the conversation is made; whoever dies in between leaves a note by which
// the next run finds a reply that came meanwhile, deletes the conversation, and only then
// forgets it. Reviews and translations are no conversations, and nobody can look for
// their replies: what is asked for when the process dies is asked for once more.
//
// The package knows no SQL, no HTTP and no terminal.
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

// Library is the part of the destination that reading needs.
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

// Service is what the engine needs of the AI content service. That of a *ai.Client is made
// by Over.
type Service interface {
	// Converse makes a conversation with an id of the caller's. One that is there already
	// is an fs.ErrExist.
	Converse(ctx context.Context, id string) error
	// Attach puts a picture into a conversation and gives the id of the file.
	Attach(ctx context.Context, conversation string, p Attachment) (file string, err error)
	// Ask sends a prompt, with files that were attached before, and gives the reply as a
	// whole. An error that satisfies errors.Is(err, ErrAsked) may have been billed, and the
	// reply may be there or come all the same, unless it satisfies errors.Is(err, ErrNoReply).
	Ask(ctx context.Context, conversation string, q Question) (string, error)
	// Exchange tells what was said in a conversation; one that is not there is an
	// fs.ErrNotExist.
	Exchange(ctx context.Context, conversation string) (Exchange, error)
	// Forget deletes a conversation with all that is in it. That it is gone already is no
	// error.
	Forget(ctx context.Context, conversation string) error
	// Review has elements of HTML reviewed and gives those that the review would change, by
	// their data-id. Errors are as those of Ask.
	Review(ctx context.Context, review, html string, contexts []ai.ContextRef) (map[string]string, error)
	// Translate gives HTML in another language. Errors are as those of Ask.
	Translate(ctx context.Context, html, language string, contexts []ai.ContextRef) (string, error)
	// Credits tells what was spent since a time; an error that satisfies
	// errors.Is(err, errors.ErrUnsupported) says that the service does not count.
	Credits(ctx context.Context, since time.Time) (float64, error)
}

// An Attachment is a picture that is ready to be sent.
type Attachment struct {
	Name string // with an extension that fits the type
	Type string // media type
	Data []byte
}

// A Question is a message to a model.
type Question struct {
	Prompt string
	Model  string
	Files  []string // ids of attached ones
	Pixels int      // of the attached pictures, all together

	Contexts []ai.ContextRef
}

// An Exchange is what was said in a conversation.
type Exchange struct {
	Questions int    // messages that were sent, each of which was billed
	Reply     string // the answer to the last of them; empty if there is none so far
}

// Errors that callers branch on.
var (
	// ErrAsked says that a call may have been billed although there is no usable answer.
	ErrAsked = errors.New("it may have been billed")
	// ErrNoReply says, beside ErrAsked, that no reply will come any more.
	ErrNoReply = errors.New("there is no reply")
	// ErrBudget says that a run ended because it may not spend more credits.
	ErrBudget = errors.New("the credits that may be spent are used up")
	// ErrNoSurvey says that the assets of the destination were never listed to the end.
	ErrNoSurvey = errors.New("the assets of the destination were not listed")
)

// A BreakerError says that a run ended because so many assets in a row failed in the same way.
type BreakerError struct {
	Failures int
	Last     error
}

func (e *BreakerError) Error() string {
	return fmt.Sprintf("%d assets in a row failed in the same way, the last one: %v", e.Failures, e.Last)
}

func (e *BreakerError) Unwrap() error { return e.Last }

// Hint is the next step.
func (e *BreakerError) Hint() string {
	return "find out what is wrong, then run it again: what was proposed so far is kept"
}

// Deps are what every part of the engine works with. Methods of an Engine that do not need
// one of them leave it alone: it may be nil.
type Deps struct {
	Store       *enrichment.Store
	Library     Library
	Writer      Writer  // Apply and Undo only
	Service     Service // Describe, Review and Translate only
	Host        string  // which service it is, for people and for the journal; it holds no secret
	Destination string  // as in state.Pair
	Observer    Observer

	PerMinute   int64            // calls that may be billed a minute, for estimates; 0: any number
	Concurrency int              // assets at once; 0: 4
	Stop        <-chan struct{}  // closed: nothing is begun any more, what has begun comes to its end
	Settle      time.Duration    // how long a reply is waited for whose stream was lost, or whose process died; 0: DefaultSettle
	Now         func() time.Time // nil: clock.Now
}

// DefaultSettle is how long a reply is waited for whose stream was lost.
const DefaultSettle = 30 * time.Second

// An Engine does the work. Its methods are not to be called at the same time.
type Engine struct{ Deps }

// New makes an engine.
func New(d Deps) *Engine {
	if d.Observer == nil {
		d.Observer = Silent{}
	}
	if d.Concurrency <= 0 {
		d.Concurrency = 4
	}
	if d.Settle <= 0 {
		d.Settle = DefaultSettle
	}
	if d.Now == nil {
		d.Now = clock.Now
	}
	return &Engine{d}
}

// draining is a context under which nothing waits any more once it is to stop.
func (e *Engine) draining(ctx context.Context) context.Context { return retry.WithDrain(ctx, e.Stop) }

// An Observer watches the engine. Its methods must not block and may be called from several
// goroutines.
type Observer interface {
	// Phase begins one: "survey", "describe", "review", "translate", "apply", "undo", "clean
	// up". The number of assets is -1 where it is not known.
	Phase(name string, assets int64)
	// Progress says that so many more assets are done in the phase.
	Progress(assets int64)
	// Outcome tells what became of an asset, after the journal has it.
	Outcome(o Outcome)
}

// An Outcome is what became of an enrichment.
type Outcome struct {
	Asset    string
	Path     string // CATEGORY/FOLDER/NAME.ext; empty if the asset is not in the survey
	Kind     enrichment.Kind
	Language string
	State    enrichment.State
	Proposal *enrichment.Proposal // nil if there is none
	Class    string               // of Error
	Error    string               // empty if all went well
	Flagged  []string
}

// Silent is an Observer that keeps quiet.
type Silent struct{}

// Phase does nothing.
func (Silent) Phase(string, int64) {}

// Progress does nothing.
func (Silent) Progress(int64) {}

// Outcome does nothing.
func (Silent) Outcome(Outcome) {}

// A Result sums a run up.
type Result struct {
	Run     enrichment.Run // as it is in the journal now
	States  map[enrichment.State]int64
	Stopped bool  // it was told to, and not all is done
	Left    int64 // conversations that are at the service still; the next run deletes them
}
