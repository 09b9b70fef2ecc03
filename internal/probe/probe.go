// Package probe measures behaviour of a service that is not documented: duplicate names, limits of
// names and pages, latencies and rate limits. It works in a category of its own, which it always
// deletes at the end.
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

// Prefix begins the name of every category that a probe creates.
const Prefix = "assetferry probe "

// Options configure a probe.
type Options struct {
	Client  *assets.Client // of an administrator
	Service string         // its URL, for the profile

	// Aged returns a client with tokens that were issued so long ago. It is nil if a command signs
	// the tokens.
	Aged func(age time.Duration) (*assets.Client, error)
	// Step is called before each measurement; it may be nil.
	Step func(what string)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// A Result is the result of a probe.
type Result struct {
	Profile  Profile
	Measured bool // all measurements ended, even if the cleanup failed
	// Left lists the categories that must be deleted by hand.
	Left []string
}

// A measurement determines one or a few values.
type measurement struct {
	name string
	most int // requests
	run  func(*prober, context.Context) error
}

// measurements returns all measurements. Each may rely on those before it.
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
		{"upload_bandwidth", len(largeSizes) + abreastLarge, (*prober).bandwidth},
		{"processing", 1 + maxLooks, (*prober).processing},
		{"trash", 3, (*prober).trash},
		{"bearer", 1, (*prober).bearer},
		{"token_age", 5, (*prober).tokenAge},
		{"rate", sum(bursts), (*prober).rate},
	}
}

// setUp and cleanUp are the numbers of requests that create and delete the category with its content.
const setUp, cleanUp = 3, 4

// MostCalls returns the maximum number of requests of a probe, without repetitions of refused and lost
// ones.
func MostCalls() int {
	n := setUp + cleanUp
	for _, m := range measurements() {
		n += m.most
	}
	return n
}

// A prober is a probe in progress.
type prober struct {
	Options
	profile  Profile
	category string   // its name, which several may have
	made     []string // IDs of the categories of that name
	lost     bool     // another one may have been created
	in       string   // ID of the category that the probe uses
	folder   string
	inner    string       // a folder in that one
	subject  assets.Asset // used to test attributes
}

// Run probes a service. If a measurement fails, the profile contains the reason and the probe
// continues. The categories are deleted also after an error and after the context has ended.
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
		return Result{}, fmt.Errorf("create a category for the probe: %w", err)
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

// prepare creates a category, a folder in it, and an asset.
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
	p.subject, err = p.upload(ctx, "subject.txt", []byte("metadata of this asset is tested"))
	return err
}

// makeCategory creates a category. It ignores an interrupt, since the service could create the
// category after the cleanup.
func (p *prober) makeCategory(ctx context.Context, extensions ...string) (id string, err error) {
	id, err = p.Client.CreateCategory(context.WithoutCancel(ctx), assets.NewCategory{Name: p.category, Extensions: extensions})
	if err != nil {
		p.lost = true
		return "", err
	}
	p.made = append(p.made, id)
	return id, nil
}

// cleanTime is the maximum duration of the cleanup.
const cleanTime = time.Minute

// clean deletes every category of the probe. It finds them by name only if a request without a response
// may have created one: a list may be unavailable or may lack new ones.
func (p *prober) clean(ctx context.Context) (left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cleanTime)
	defer cancel()
	p.step("clean up")
	if p.lost {
		if err = p.findMade(ctx); err != nil {
			left, err = append(left, fmt.Sprintf("the category %q, if it exists", p.category)), fmt.Errorf("clean up: %w", err)
		}
	}
	for _, id := range p.made {
		if failed := p.remove(ctx, id); failed != nil {
			left, err = append(left, fmt.Sprintf("the category %q (%s) with its content", p.category, id)), errors.Join(err, failed)
		}
	}
	return left, err
}

// remove deletes a category. After a 404 it requests the category, because the endpoint may be missing
// instead.
func (p *prober) remove(ctx context.Context, id string) error {
	r, err := p.ask(ctx, assets.Question{Op: "delete category", Method: http.MethodDelete, URL: p.Client.InWorkspace("/admin/categories/" + url.PathEscape(id))})
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

// findMade adds the listed categories of the probe.
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

// answered returns a reply as an error.
func answered(r assets.Reply) error {
	return fmt.Errorf("%d %s", r.Status, http.StatusText(r.Status))
}

// Repetitions of requests that are refused for their rate.
const (
	maxTries  = 8
	firstWait = 250 * time.Millisecond
	longWait  = 5 * time.Second
)

// ask sends a request, again if it is refused for its rate.
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

// refused reports whether an error is a refusal by the service, which is a result, and not a
// connection error.
func refused(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	if !ok || e.Err != nil {
		return false
	}
	return slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}, e.Status)
}

// accepted turns an error into yes, no or unknown.
func accepted(err error) (bool, error) {
	if err == nil || refused(err) {
		return err == nil, nil
	}
	return false, err
}

// lacks records that the service lacks a feature, if a status shows that.
func (p *prober) lacks(status int, what string) bool {
	missing := slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, status)
	if missing {
		p.profile.Lacks = append(p.profile.Lacks, what)
	}
	return missing
}

// bisection returns the maximum number of attempts to find a limit up to a ceiling.
func bisection(ceiling int) int {
	n := 3
	for ; ceiling > 0; ceiling /= 2 {
		n++
	}
	return n
}

// most returns the largest accepted number, or -1 if all up to a ceiling are accepted. It tries the usual
// limit first.
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
		return 0, errors.New("even the smallest value was refused")
	}
	return low, nil
}

// long returns a text of n characters.
func long(n int) string { return strings.Repeat("n", n) }
