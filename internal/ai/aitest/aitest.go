// Package aitest defines the law of the AI content service: the behaviour that the client and its
// callers rely on. It runs on the stand-in and, if enabled, on a real service, so that both behave
// alike.
package aitest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"image"
	"image/png"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/retry"
)

// A Caller is the identity of a client.
type Caller struct {
	User        string   // empty: the tested user
	Permissions []string // scopes; nil: all that are not for administrators
	// Unknown makes the token name an environment that does not exist.
	Unknown bool
	// Forged makes the token have a signature with another key.
	Forged bool
}

// A Service is the service to test. A test costs credits for about eighty short calls.
type Service struct {
	// NewClient returns a client.
	NewClient func(t testing.TB, as Caller) *ai.Client
	// Admin are the scopes of an administrator; without them, laws for administrators are skipped.
	Admin []string
	// Page is the URL of a page that the service can read; without it, laws about pages are
	// skipped.
	Page string
	// Flagged is a prompt that moderation rejects; without it, that law is skipped.
	Flagged string
	// Billed means that the service counts credits, which it does not on premises.
	Billed bool
}

// Permissions returns the scopes of a [Caller] without its own. The one for contexts is a guess.
func Permissions() []string {
	return []string{"ai:conversations:*", "ai:models:*", "ai:actions:*", "ai:reviews:*", "ai:documents:process", "ai:contexts:*"}
}

// A law is one behaviour that the client relies on.
type law struct {
	name string
	run  func(*testing.T, *scratch)
}

// guess marks the name of a law that is not documented. If a real service violates it, the stand-in
// and the code that relies on it are wrong.
func guess(name string) string { return "guess: " + name }

func laws(s Service) []law {
	all := slices.Concat([]law{{"the service describes its endpoints", describesItself}}, conversationLaws(), attachmentLaws(), messageLaws(), callLaws(), refusalLaws())
	if s.Page != "" {
		all = append(all, pageLaws()...)
	}
	if s.Flagged != "" {
		all = append(all, law{"moderation rejects a prompt with a reason", moderatesPrompts})
	}
	if s.Admin != nil {
		all = append(all, slices.Concat(administrationLaws(), contextLaws())...)
	}
	if s.Admin != nil && s.Billed {
		all = append(all, law{"usage reports the credits of the environment and of its users", reportsUsage})
	}
	return all
}

// Run tests a service. It uses its own conversations and contexts with unique names, and deletes
// them at the end.
func Run(t *testing.T, s Service) {
	guesses := 0
	for _, l := range laws(s) {
		if strings.HasPrefix(l.name, guess("")) {
			guesses++
		}
		t.Run(l.name, func(t *testing.T) { l.run(t, newScratch(t, s)) })
	}
	t.Logf("%d cases, including %d guesses", len(laws(s)), guesses)
}

// A scratch is the environment of one law.
type scratch struct {
	*ai.Client
	service Service
	as      func(Caller) *ai.Client
	model   ai.Model
	group   string // group of its conversations
}

func newScratch(t *testing.T, service Service) *scratch {
	t.Helper()
	s := &scratch{service: service, group: unique("law"), as: func(who Caller) *ai.Client { return service.NewClient(t, who) }}
	s.Client = s.as(Caller{})
	models, err := s.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.model, err = ai.ChooseModel(models, ""); err != nil {
		t.Fatal(err)
	}
	return s
}

func unique(name string) string {
	return "assetferry-test-" + name + "-" + strings.ToLower(rand.Text())
}

// cleaning returns a context for deletions at the end, because that of the test has ended.
func cleaning(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// conversation creates a conversation and deletes it at the end.
func (s *scratch) conversation(t *testing.T) string {
	t.Helper()
	id, err := s.CreateConversation(t.Context(), ai.NewConversation{ID: unique("conversation"), Group: s.group})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.DeleteConversation(cleaning(t), id); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return id
}

// say sends a message and returns the events of its reply.
func (s *scratch) say(t *testing.T, conversation string, m ai.Message) []ai.Event {
	t.Helper()
	m.Model = s.model.ID
	stream, err := s.Send(t.Context(), conversation, m)
	return events(t, stream, err)
}

// events reads a complete answer.
func events(t *testing.T, stream *ai.Stream, err error) (all []ai.Event) {
	t.Helper()
	for err == nil {
		var e ai.Event
		if e, err = stream.Next(); err == nil {
			all = append(all, e)
		}
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("the reply has no events")
	}
	return all
}

// joined returns the text of a reply.
func joined(all []ai.Event) string {
	var b strings.Builder
	for _, e := range all {
		if d, ok := e.(ai.TextDelta); ok {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

// collect returns all items of a list.
func collect[T any](t *testing.T, items iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	return all
}

// ids returns the ID of each item.
func ids[T any](all []T, id func(T) string) (list []string) {
	for _, item := range all {
		list = append(list, id(item))
	}
	return list
}

// refused verifies that an error is a permanent rejection.
func refused(t *testing.T, what string, err error) *ai.Error {
	t.Helper()
	e, ok := errors.AsType[*ai.Error](err)
	if !ok || e.Status < 400 || e.Status > 499 || e.Class().Repeatable() {
		t.Fatalf("%s: got %v, want a permanent error of the service", what, err)
	}
	if e.Message == "" || e.TraceID == "" || e.Code == "" {
		t.Errorf("%s: got code %q, message %q and trace %q, want none of them empty", what, e.Code, e.Message, e.TraceID)
	}
	return e
}

// ended closes an unexpected stream, and returns the error.
func ended(stream *ai.Stream, err error) error {
	if err == nil {
		_ = stream.Close()
	}
	return err
}

// is verifies that an error matches one of the errors for callers.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		class, _ := retry.Classify(err)
		t.Errorf("%s: got %v (%s), want %q", what, err, class, want)
	}
}

func file(name, mediaType string, data []byte) ai.File {
	return ai.File{Name: name, Type: mediaType, Size: int64(len(data)), Body: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
