// Package aiprobe measures undocumented behaviour of an AI content service: the form of lists,
// accepted IDs, and statuses. It uses its own conversations with unique IDs, and deletes them at
// the end, also after errors. It uses no model, so nothing is billed.
package aiprobe

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"assetferry/internal/ai"
)

// Prefix is the beginning of the ID of every conversation of a probe.
const Prefix = "assetferry-probe-"

// group is the group of these conversations.
const group = "assetferry-probe"

// A Wrap wraps the transport of a client.
type Wrap func(http.RoundTripper) http.RoundTripper

// Options configure a probe.
type Options struct {
	// NewClients returns a client, and one whose token permits requests for usage.
	NewClients func(Wrap) (client, accounts *ai.Client, err error)
	Service    string // its URL, for the profile
	// Step is called with the name of each measurement before it starts; it may be nil.
	Step func(what string)
	// Now is the local clock; nil means time.Now.
	Now func() time.Time
}

// A Result is the result of a probe.
type Result struct {
	Profile  Profile
	Measured bool  // all measurements are complete; conversations may be left
	Requests int64 // number of sent requests
	// Left lists the conversations that could not be deleted, for an administrator to delete.
	Left []string
}

// A measurement measures one behaviour, or a few related ones.
type measurement struct {
	name string
	most int // maximum number of requests
	run  func(*prober, context.Context) error
}

// The longest ID and the largest page of a probe.
const (
	longestID   = 1024
	largestPage = 1000
)

// measurements returns all measurements in an order in which each can use the results of earlier
// ones.
func measurements() []measurement {
	return []measurement{
		{"models", 1, (*prober).models},
		{"lists", 1, (*prober).lists},
		{"messages", 1, (*prober).messages},
		{"order", 3, (*prober).order},
		{"largest_page", bisection(largestPage), (*prober).pages},
		{"taken_ids", 1, (*prober).takenIDs},
		{"group", 1, (*prober).groups},
		{"tiny_images", 1, (*prober).tinyImages},
		{"deleted", 3, (*prober).deletes},
		{"reused_ids", 1, (*prober).reusedIDs},
		{"max_id", bisection(longestID), (*prober).idLengths},
		{"idle_users", 1, (*prober).idleUsers},
	}
}

// bisection returns the number of attempts to find a limit up to most.
func bisection(most int) (tries int) {
	for tries = 2; most > 1; tries++ {
		most /= 2
	}
	return tries
}

// MostCalls returns the maximum number of requests of a probe, without repetitions after lost
// answers. It includes the deletion of each conversation.
func MostCalls() int {
	n := 1
	for _, m := range measurements() {
		n += m.most
	}
	return n + 6 + bisection(longestID)
}

// A prober is a probe in progress.
type prober struct {
	Options
	client, accounts *ai.Client
	recorder         *recorder
	profile          Profile
	fine             bool     // times have fractions of seconds
	subject          string   // ID of the conversation for measurements
	deleted          string   // ID of a deleted conversation
	made             []string // IDs of conversations that may exist
	certain          []string // the IDs of made that certainly existed
}

// Run probes a service. The profile contains the reason for each value that cannot be measured. Run
// deletes its conversations also after an error, and after the end of the context.
func Run(ctx context.Context, o Options) (result Result, err error) {
	p := &prober{Options: o, recorder: &recorder{}}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.client, p.accounts, err = o.NewClients(p.recorder.around); err != nil {
		return Result{}, err
	}
	p.profile = Profile{Version: 1, Service: o.Service, MeasuredAt: p.Now().UTC().Format(time.RFC3339), Unknown: unmeasurable()}
	defer func() {
		left, cerr := p.clean(context.WithoutCancel(ctx))
		result = Result{Profile: p.profile, Measured: err == nil, Left: left, Requests: p.recorder.requests.Load()}
		err = errors.Join(err, cerr)
	}()
	p.subject = newID()
	if err := p.make(ctx, p.subject, group); err != nil {
		return Result{}, fmt.Errorf("create a conversation for the probe: %w", err)
	}
	p.profile.Created = p.status("created", http.StatusCreated, http.StatusOK)
	for _, m := range measurements() {
		if p.Step != nil {
			p.Step(m.name)
		}
		err := m.run(p, ctx)
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if err != nil {
			p.profile.Unknown[m.name] = err.Error()
		}
	}
	return Result{}, nil
}

// status returns the status of the last answer if it is one of the known ones, which a sandbox
// supports.
func (p *prober) status(what string, known ...int) int {
	status := p.recorder.last.status
	if !slices.Contains(known, status) {
		p.profile.Unknown[what] = fmt.Sprintf("the status is %d, which the sandbox does not support", status)
		return 0
	}
	return status
}

func newID() string { return Prefix + strings.ToLower(rand.Text()) }

// make creates a conversation. Its ID is recorded first, because it may exist after a lost answer.
// An interrupt does not cancel the request, because the service could otherwise create the
// conversation after its deletion.
func (p *prober) make(ctx context.Context, id, group string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	isNew := !slices.Contains(p.made, id)
	if isNew {
		p.made = append(p.made, id)
	}
	making, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(cleanTime, end) })()
	_, err := p.client.CreateConversation(making, ai.NewConversation{ID: id, Group: group})
	if err == nil {
		p.certain = append(p.certain, id)
	} else if no, _ := refused(err); no && isNew {
		p.forget(id)
	}
	return err
}

func (p *prober) forget(id string) {
	is := func(other string) bool { return other == id }
	p.made, p.certain = slices.DeleteFunc(p.made, is), slices.DeleteFunc(p.certain, is)
}

// remove deletes a conversation. A 404 counts as success for the client, but the endpoint itself
// may be missing. So after a 404, a conversation that existed is looked up.
func (p *prober) remove(ctx context.Context, id string) error {
	if err := p.client.DeleteConversation(ctx, id); err != nil {
		return err
	}
	if answered := p.recorder.last; answered.status == http.StatusNotFound && slices.Contains(p.certain, id) {
		if _, err := p.client.Conversation(ctx, id); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("delete conversation %s: the service answered 404, but the conversation still exists", id), err)
		}
		p.recorder.last = answered
	}
	p.forget(id)
	return nil
}

// cleanTime is the maximum time for the deletion at the end, and for requests in progress at an
// interrupt.
const cleanTime = time.Minute

// clean deletes all created conversations, and returns those that could not be deleted.
func (p *prober) clean(ctx context.Context) (left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cleanTime)
	defer cancel()
	for _, id := range slices.Clone(p.made) {
		if failed := p.remove(ctx, id); failed != nil {
			left, err = append(left, "the conversation "+id), errors.Join(err, failed)
		}
	}
	return left, err
}

// refused reports whether the service rejected a request; other errors are returned.
func refused(err error) (bool, error) {
	e, ok := errors.AsType[*ai.Error](err)
	if ok && e.Err == nil && slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusRequestURITooLong, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}, e.Status) {
		return true, nil
	}
	return false, err
}

// verdict returns one of two words: taken if the service accepted a request, not if it rejected it.
func verdict(err error, taken, not string) (string, error) {
	no, err := refused(err)
	switch {
	case err != nil:
		return "", err
	case no:
		return not, nil
	}
	return taken, nil
}

func (p *prober) models(ctx context.Context) error {
	if _, err := p.client.Models(ctx); err != nil {
		return err
	}
	for _, key := range []string{"items", "models"} {
		if slices.Contains(p.recorder.last.keys, key) {
			p.profile.Models = key
			return nil
		}
	}
	return fmt.Errorf("the response has the fields %v", p.recorder.last.keys)
}

// listed returns a page of the conversations, and records whether their times have fractions.
func (p *prober) listed(ctx context.Context, order string, limit int) (ids []string, err error) {
	f := ai.ConversationFilter{Group: group}
	if order != "" {
		f.SortBy, f.Order = "createdAt", order
	}
	for c, err := range p.client.Conversations(ctx, f, ai.Page{Limit: limit}) {
		if err != nil {
			return nil, err
		}
		p.fine = p.fine || c.CreatedAt.Nanosecond() > 0
		if ids = append(ids, c.ID); len(ids) >= 20 {
			break // conversations of earlier probes do not matter
		}
	}
	return ids, nil
}

func (p *prober) lists(ctx context.Context) error {
	ids, err := p.listed(ctx, "", 20)
	if err != nil {
		return err
	}
	p.profile.Lists = p.recorder.last.form()
	if !slices.Contains(ids, p.subject) {
		return errors.New("the form is known, but the list lacks the new conversation or its ID")
	}
	return nil
}

func (p *prober) messages(ctx context.Context) error {
	for _, err := range p.client.Messages(ctx, p.subject) {
		if err != nil {
			return err
		}
	}
	p.profile.Messages = p.recorder.last.form()
	return nil
}

// apart is the delay between two conversations after which their times differ even in whole
// seconds.
const apart = time.Second

// order creates a second conversation, and lists both in each order.
func (p *prober) order(ctx context.Context) error {
	if !p.fine {
		select {
		case <-time.After(apart):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	second := newID()
	if err := p.make(ctx, second, group); err != nil {
		return err
	}
	p.deleted = second // deleted by a later measurement
	newestFirst := map[string]bool{}
	for _, order := range []string{"asc", "desc"} {
		ids, err := p.listed(ctx, order, 20)
		if err != nil {
			return err
		}
		old, young := slices.Index(ids, p.subject), slices.Index(ids, second)
		if old < 0 || young < 0 {
			return errors.New("the list lacks a new conversation")
		}
		newestFirst[order] = young < old
	}
	p.profile.Order = "ignore"
	if newestFirst["desc"] && !newestFirst["asc"] {
		p.profile.Order = "honour"
	}
	return nil
}

// pages finds the largest limit that is not rejected. A probe has too few conversations to detect
// whether a larger one is shortened.
func (p *prober) pages(ctx context.Context) (err error) {
	if p.profile.Lists != "page" {
		return errors.New("lists have no pages")
	}
	p.profile.LargestPage, err = largest(1, largestPage, func(n int) error {
		for _, err := range p.client.Conversations(ctx, ai.ConversationFilter{Group: group}, ai.Page{Limit: n}) {
			return err // one page is enough
		}
		return nil
	})
	return err
}

// largest returns the largest number that is not rejected, from least, which must be accepted, to
// most; -1 if most is accepted.
func largest(least, most int, try func(int) error) (int, error) {
	taken := func(n int) (bool, error) {
		no, err := refused(try(n))
		return !no, err
	}
	if ok, err := taken(most); err != nil || ok {
		return -1, err
	}
	if ok, err := taken(least); err != nil || !ok {
		return 0, errors.Join(err, fmt.Errorf("the service rejects even %d", least))
	}
	for most-least > 1 {
		middle := (least + most) / 2
		ok, err := taken(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			least = middle
		} else {
			most = middle
		}
	}
	return least, nil
}

func (p *prober) takenIDs(ctx context.Context) (err error) {
	p.profile.TakenIDs, err = verdict(p.make(ctx, p.subject, group), "accept", "refuse")
	if p.recorder.last.status == http.StatusConflict { // after a lost answer the client counts this status as its own success
		p.profile.TakenIDs = "refuse"
	}
	return err
}

func (p *prober) groups(ctx context.Context) (err error) {
	p.profile.Group, err = verdict(p.make(ctx, newID(), ""), "optional", "required")
	return err
}

// pixel is a PNG with one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func (p *prober) tinyImages(ctx context.Context) error {
	data, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		return fmt.Errorf("decode the image of the probe: %w", err)
	}
	_, err = p.client.UploadFile(ctx, p.subject, ai.File{
		Name: "pixel.png", Type: "image/png", Size: int64(len(data)),
		Body: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	})
	p.profile.TinyImages, err = verdict(err, "accept", "refuse")
	return err
}

func (p *prober) deletes(ctx context.Context) error {
	if p.deleted == "" {
		return errors.New("the second conversation is missing")
	}
	if err := p.remove(ctx, p.deleted); err != nil {
		return err
	}
	p.profile.Deleted = p.status("deleted", http.StatusNoContent, http.StatusOK)
	if err := p.remove(ctx, p.deleted); err != nil { // the client returns no error for a deleted conversation
		return err
	}
	p.profile.DeletedAgain = "accept"
	if p.recorder.last.status == http.StatusNotFound {
		p.profile.DeletedAgain = "refuse"
	}
	return nil
}

func (p *prober) reusedIDs(ctx context.Context) (err error) {
	if p.deleted == "" || slices.Contains(p.made, p.deleted) {
		return errors.New("deleting a conversation failed")
	}
	p.profile.ReusedIDs, err = verdict(p.make(ctx, p.deleted, group), "accept", "refuse")
	return err
}

func (p *prober) idLengths(ctx context.Context) (err error) {
	p.profile.MaxID, err = largest(len(p.subject), longestID, func(n int) error {
		id := newID()
		id += strings.Repeat("x", n-len(id))
		if err := p.make(ctx, id, group); err != nil {
			return err
		}
		return p.remove(ctx, id)
	})
	return err
}

// idleUsers requests the usage of a user that does not exist.
func (p *prober) idleUsers(ctx context.Context) error {
	_, err := p.accounts.Usage(ctx, p.Now().Add(-time.Hour), time.Time{}, newID())
	switch {
	case errors.Is(err, ai.ErrNoUsage):
		p.profile.IdleUsers = "omit"
	case err != nil:
		return err
	default:
		p.profile.IdleUsers = "list"
	}
	return nil
}

// keysOf returns the keys of an object; nil for other values.
func keysOf(body []byte) (keys []string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) == nil {
		for key := range object {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
