// Package probe finds out what a service does where its documentation is silent:
// whether it takes equal names, how long a name may be, how large a page, how fast it
// answers, how many requests are too many. It works in a category of its own with an
// unmistakable name, which it deletes in the end, whatever happens.
package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/assets"
)

// Prefix begins the name of every category that a probe makes.
const Prefix = "assetferry probe "

// Options say what to probe.
type Options struct {
	Client  *assets.Client // of an administrator
	Service string         // its address, for the profile

	// Aged gives a client whose tokens were issued so long ago; nil where somebody
	// else signs them.
	Aged func(age time.Duration) (*assets.Client, error)
	// Step is told what is measured next; it may be nil.
	Step func(what string)
	// Now is our clock; nil means time.Now.
	Now func() time.Time
}

// A Result is what came of probing.
type Result struct {
	Profile  Profile
	Measured bool // to the end, whatever became of cleaning up
	// Left names what could not be deleted in the end, for a person to delete.
	Left []string
}

// A measurement finds out one thing, or a few that go together.
type measurement struct {
	name string
	most int // requests
	run  func(*prober, context.Context) error
}

// measurements are all there is to find out, in an order that lets each rely on those
// before.
func measurements() []measurement {
	return []measurement{
		{"limits", 1, (*prober).limits},
		{"listing_delay", 1 + maxListings, (*prober).listingDelay},
		{"folders", 2, (*prober).folders},
		{"category_listing", 1, (*prober).categoryListing},
		{"list_order", 2 + 4, (*prober).listOrder},
		{"date_filter", 3, (*prober).dateFilter},
		{"equal_assets", 1, (*prober).equalAssets},
		{"equal_folders", 1, (*prober).equalFolders},
		{"equal_categories", 1, (*prober).equalCategories},
		{"pages", 1 + bisection(largestPage), (*prober).pages},
		{"max_name", bisection(longestName), (*prober).names},
		{"max_description", bisection(longestText), (*prober).descriptions},
		{"max_tag", bisection(longestName), (*prober).tagLengths},
		{"max_tags", bisection(mostTags), (*prober).tagCounts},
		{"max_attributes", bisection(mostTags), (*prober).attributeCounts},
		{"max_attribute", bisection(longestText), (*prober).attributeLengths},
		{"attributes", 2, (*prober).merging},
		{"extensions", 1, (*prober).extensions},
		{"replace", 1, (*prober).replacing},
		{"delivery", 2, (*prober).delivery},
		{"latency", smallCalls, (*prober).latency},
		{"upload_latency", smallUploads, (*prober).uploads},
		{"processing", 1 + maxLooks, (*prober).processing},
		{"trash", 3, (*prober).trash},
		{"bearer", 1, (*prober).bearer},
		{"token_age", 5, (*prober).tokenAge},
		{"rate", burst, (*prober).rate},
	}
}

// setUp and cleanUp are how many requests it takes to make the scratch category with
// what is in it, and to delete it.
const setUp, cleanUp = 3, 4

// MostCalls is how many requests a probe makes at most, besides repetitions of those
// that the service refuses for their rate or that get lost.
func MostCalls() int {
	n := setUp + cleanUp
	for _, m := range measurements() {
		n += m.most
	}
	return n
}

// A prober is at work.
type prober struct {
	Options
	profile  Profile
	category string   // the name, of which there may be several
	made     []string // IDs of the categories of that name
	lost     bool     // another one may have been made
	in       string   // ID of the category that is worked in
	folder   string
	inner    string       // a folder in that one
	subject  assets.Asset // on which attributes are tried
}

// Run probes a service. Where something cannot be measured it says so in the profile
// and goes on. What it made is deleted also after an error, and after the context has
// ended.
func Run(ctx context.Context, o Options) (result Result, err error) {
	p := &prober{Options: o, category: Prefix + rand.Text()}
	if p.Now == nil {
		p.Now = time.Now
	}
	p.profile = Profile{Version: 1, Service: o.Service, MeasuredAt: p.Now().UTC().Format(time.RFC3339), Unknown: map[string]string{}}
	defer func() {
		left, cerr := p.clean(context.WithoutCancel(ctx))
		result = Result{Profile: p.profile, Measured: err == nil, Left: left}
		err = errors.Join(err, cerr)
	}()
	if err := p.prepare(ctx); err != nil {
		return Result{}, fmt.Errorf("make a place to probe in: %w", err)
	}
	for _, m := range measurements() {
		p.step(m.name)
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

func (p *prober) step(what string) {
	if p.Step != nil {
		p.Step(what)
	}
}

// prepare makes a category, a folder in it, and an asset.
func (p *prober) prepare(ctx context.Context) (err error) {
	if p.in, err = p.makeCategory(ctx, "txt", "png"); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.folder, err = p.Client.CreateFolder(ctx, assets.NewFolder{Name: "probe", CategoryID: p.in}); err != nil {
		return err
	}
	p.subject, err = p.upload(ctx, "subject.txt", []byte("assetferry looks what may be said of this"))
	return err
}

// makeCategory makes a category of ours. It is not given up half-way, since the
// service could make it after we have looked for what to delete.
func (p *prober) makeCategory(ctx context.Context, extensions ...string) (id string, err error) {
	id, err = p.Client.CreateCategory(context.WithoutCancel(ctx), assets.NewCategory{Name: p.category, Extensions: extensions})
	if err != nil {
		p.lost = true
		return "", err
	}
	p.made = append(p.made, id)
	return id, nil
}

// cleanTime is how long cleaning may take.
const cleanTime = time.Minute

// clean deletes every category of ours. It looks for them by name only if one may have been
// made by a request that got no answer: a list may not be had, or not hold new ones yet.
func (p *prober) clean(ctx context.Context) (left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cleanTime)
	defer cancel()
	p.step("clean up")
	if p.lost {
		if err = p.findMade(ctx); err != nil {
			left, err = append(left, fmt.Sprintf("the category %q, if it was made", p.category)), fmt.Errorf("clean up: %w", err)
		}
	}
	for _, id := range p.made {
		if failed := p.remove(ctx, id); failed != nil {
			left, err = append(left, fmt.Sprintf("the category %q (%s), with all that is in it", p.category, id)), errors.Join(err, failed)
		}
	}
	return left, err
}

// remove deletes a category. One that is not found is looked for: it may be the endpoint that
// was not found.
func (p *prober) remove(ctx context.Context, id string) error {
	r, err := p.ask(ctx, assets.Question{Op: "delete category", Method: http.MethodDelete, Address: p.Client.InWorkspace("/admin/categories/" + url.PathEscape(id))})
	switch {
	case err != nil || r.Status < 300:
		return err
	case r.Status == http.StatusNotFound:
		if _, err := p.Client.Category(ctx, id); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("delete category: %w", answered(r))
}

// findMade finds the categories of ours that are listed.
func (p *prober) findMade(ctx context.Context) error {
	for c, err := range p.Client.Categories(ctx) {
		if err != nil {
			return err
		}
		if c.Name == p.category && !slices.Contains(p.made, c.ID) {
			p.made = append(p.made, c.ID)
		}
	}
	return nil
}

// answered is a reply as an error.
func answered(r assets.Reply) error {
	return fmt.Errorf("%d %s", r.Status, http.StatusText(r.Status))
}

// Repetitions of what is refused for its rate.
const (
	maxTries  = 8
	firstWait = 250 * time.Millisecond
	longWait  = 5 * time.Second
)

// ask asks, and again if it was too soon.
func (p *prober) ask(ctx context.Context, q assets.Question) (assets.Reply, error) {
	return askAs(ctx, p.Client, q)
}

func askAs(ctx context.Context, c *assets.Client, q assets.Question) (assets.Reply, error) {
	wait := firstWait
	for try := 1; ; try++ {
		r, err := c.Ask(ctx, q)
		if err != nil || r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable || try == maxTries {
			return r, err
		}
		if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil {
			wait = max(wait, time.Duration(seconds)*time.Second)
		}
		if err := sleep(ctx, min(wait, longWait)); err != nil {
			return r, err
		}
		wait *= 2
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refused reports whether an error is the service's no to what was asked, which tells
// something, as opposed to trouble on the way.
func refused(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	if !ok || e.Err != nil {
		return false
	}
	return slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}, e.Status)
}

// accepted makes an answer of an error: yes, no, or not known.
func accepted(err error) (bool, error) {
	if err == nil || refused(err) {
		return err == nil, nil
	}
	return false, err
}

// lacks notes that the service does not have something, if a status says so.
func (p *prober) lacks(status int, what string) bool {
	missing := slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, status)
	if missing {
		p.profile.Lacks = append(p.profile.Lacks, what)
	}
	return missing
}

// bisection is how many tries it takes at most to find a limit up to a ceiling.
func bisection(ceiling int) int {
	n := 3
	for ; ceiling > 0; ceiling /= 2 {
		n++
	}
	return n
}

// most finds the largest number that is accepted, or -1 if all are up to a ceiling. The
// usual limit is tried first, as it often is the one.
func most(usual, ceiling int, try func(int) (bool, error)) (int, error) {
	low, high := 0, ceiling+1 // accepted, and not accepted
	for _, n := range []int{usual, usual + 1, ceiling} {
		if n <= low || n >= high {
			continue
		}
		switch ok, err := try(n); {
		case err != nil:
			return 0, err
		case ok:
			low = n
		default:
			high = n
		}
	}
	if low == ceiling {
		return -1, nil
	}
	for high > low+1 {
		middle := low + (high-low)/2
		ok, err := try(middle)
		switch {
		case err != nil:
			return 0, err
		case ok:
			low = middle
		default:
			high = middle
		}
	}
	if low == 0 {
		return 0, errors.New("not even the least was accepted")
	}
	return low, nil
}

// long is a text of so many characters.
func long(n int) string { return strings.Repeat("n", n) }
