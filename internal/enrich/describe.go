package enrich

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/internal/picture"
	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// maxFile limits the bytes that are read from an image file.
const maxFile = 64 << 20

// describe requests a description of one asset. It only returns errors of the state database.
func (r *asker) describe(ctx context.Context, l Candidate) error {
	o := Outcome{Asset: l.Asset, Path: Path(l.AuditedAsset), Kind: enrichment.KindDescribe, Language: r.request.Language}
	now, err := r.Library.Asset(ctx, l.Asset)
	if err != nil {
		return r.failWithout(ctx, l.AuditedAsset, o, err)
	}
	a, changed := r.current(l, now)
	if changed {
		return nil
	}
	shown, err := r.loadImage(ctx, a)
	if err != nil {
		return r.failWithout(ctx, a, o, err)
	}
	c := conversation{asker: r, asset: a, id: conversationID(), shown: shown}
	if c.num, err = r.intend(ctx, a, c.id); err != nil {
		return err
	}
	answer, known := c.hold(ctx)
	if !known || ctx.Err() != nil && answer.State == enrichment.Planned {
		r.leave()
		return context.Cause(ctx) // the next run checks for a reply
	}
	if err := r.record(ctx, []Outcome{o}, []enrichment.Answer{answer}); err != nil {
		return err
	}
	_, err = r.forget(ctx, c.id)
	return err
}

// current returns an audited asset as it is at the service now. It reports changed if another
// user described it or made it excluded since; such an asset waits for the next audit.
func (r *asker) current(l Candidate, now assets.Asset) (a enrichment.AuditedAsset, changed bool) {
	c := assets.Category{ID: l.Category, Name: l.CategoryName, Private: l.Private}
	a = audited(now, c, l.Folder, r.request.Language)
	if now.CategoryID != l.Category || now.FolderID != l.FolderID {
		return a, true // its new path is unknown
	}
	return a, !r.request.isAbout(enrichment.Enrichable{AuditedAsset: a, Enrichment: l.Enrichment}) || r.request.Rules.exclusion(a) != ""
}

// intend records a request before it is sent. Conversation is "" if there is none.
func (r *asker) intend(ctx context.Context, a enrichment.AuditedAsset, conversation string) (int64, error) {
	nums, err := r.Store.Ask(ctx, r.run, []enrichment.Question{r.asking(a, conversation)})
	if err != nil {
		return 0, err
	}
	return nums[0], nil
}

func (r *asker) asking(a enrichment.AuditedAsset, conversation string) enrichment.Question {
	return enrichment.Question{Asset: a.Asset, Kind: r.request.Kind, Language: r.request.Language, Conversation: conversation, Basis: enrichment.Basis{
		Size: a.Size, Width: a.Width, Height: a.Height, Blur: a.Blur, Description: a.Description, Tags: a.Tags,
		Attribute: r.request.attribute, Value: attributeOf(a.Attributes, r.request.attribute)}}
}

// failWithout records the failure of an asset before a request was sent.
func (r *asker) failWithout(ctx context.Context, a enrichment.AuditedAsset, o Outcome, err error) error {
	answer := r.failed(ctx, 0, err)
	if answer.State == enrichment.Planned {
		return context.Cause(ctx)
	}
	if answer.Num, err = r.intend(ctx, a, ""); err != nil {
		return err
	}
	return r.record(ctx, []Outcome{o}, []enrichment.Answer{answer})
}

// An imageError reports an image that a model cannot process. It is permanent for this image.
type imageError struct{ error }

func (e *imageError) Unwrap() error      { return e.error }
func (e *imageError) Class() retry.Class { return retry.Permanent }

// loadImage returns the image of an asset for a model: the rendition of the service, or else
// the file.
func (r *asker) loadImage(ctx context.Context, a enrichment.AuditedAsset) (picture.Picture, error) {
	urls := slices.DeleteFunc([]string{a.Image, a.URL}, func(url string) bool { return url == "" })
	err := error(&imageError{errors.New("the asset has no URL")})
	for _, url := range urls {
		var shown picture.Picture
		if shown, err = r.fetch(ctx, url); err == nil || retriable(err) {
			return shown, err
		}
	}
	return picture.Picture{}, err
}

// retriable reports whether the error may be temporary, so that no other URL is tried instead.
func retriable(err error) bool {
	class, _ := retry.Classify(err)
	return class != retry.Permanent
}

func (r *asker) fetch(ctx context.Context, url string) (shown picture.Picture, err error) {
	body, _, err := r.Library.Download(ctx, url, 0)
	if err != nil {
		return shown, err
	}
	content, err := io.ReadAll(io.LimitReader(body, maxFile+1))
	if err = errors.Join(err, body.Close()); err != nil {
		return shown, err
	}
	if len(content) > maxFile {
		return shown, &imageError{fmt.Errorf("%w: the file has more than %d MB, and the service has no smaller rendition", picture.ErrTooLarge, maxFile>>20)}
	}
	shown, err = picture.Fit(ctx, content, picture.Limits{Bytes: r.request.Model.MaxImageBytes})
	if errors.Is(err, picture.ErrType) || errors.Is(err, picture.ErrTooLarge) || errors.Is(err, picture.ErrBroken) {
		err = &imageError{err}
	}
	return shown, err
}

// A conversation is a conversation about one asset.
type conversation struct {
	*asker
	asset enrichment.AuditedAsset
	id    string
	num   int64
	shown picture.Picture
	calls int // billed
	bytes int64
}

// hold conducts a conversation and returns the answer. Known is false if it is unknown
// whether there is a reply.
func (c *conversation) hold(ctx context.Context) (a enrichment.Answer, known bool) {
	p, err := c.propose(ctx)
	a = enrichment.Answer{Num: c.num, State: enrichment.Proposed, Proposal: &p, Model: c.request.Model.ID}
	if err != nil {
		a = c.failed(ctx, c.num, err)
	}
	a.Calls, a.Bytes = c.calls, c.bytes
	_, open := errors.AsType[*unconfirmedError](err)
	return a, !open
}

// An unconfirmedError reports that it is unknown whether a request was answered. Its class is
// that of the failed query.
type unconfirmedError struct{ asked, looked error }

func (e *unconfirmedError) Error() string {
	return fmt.Sprintf("%v; the check for a reply failed: %v", e.asked, e.looked)
}
func (e *unconfirmedError) Unwrap() []error { return []error{e.looked, e.asked} }
func (e *unconfirmedError) Class() retry.Class {
	class, _ := retry.Classify(e.looked)
	return class
}

func (c *conversation) propose(ctx context.Context) (enrichment.Proposal, error) {
	if err := c.Service.Converse(ctx, c.id); err != nil && !errors.Is(err, fs.ErrExist) {
		return enrichment.Proposal{}, err
	}
	file, err := c.Service.Attach(ctx, c.id, Attachment{Name: fileNameFor(c.asset, c.shown.Type), Type: c.shown.Type, Data: c.shown.Data})
	if err != nil {
		return enrichment.Proposal{}, err
	}
	c.bytes = int64(len(c.shown.Data))
	c.shown.Data = nil // not needed any more, and a reply takes long
	language := c.request.Language
	reply, err := c.say(ctx, Question{Prompt: prompt(language, clean(fileNameOf(c.asset))), Model: c.request.Model.ID, Files: []string{file}, Pixels: c.shown.Width * c.shown.Height, Contexts: c.request.Contexts})
	if err != nil {
		return enrichment.Proposal{}, err
	}
	p, problem := proposalOf(reply)
	if problem != nil {
		if p, err = c.again(ctx, p, problem); err != nil {
			return p, err
		}
	}
	return withWarnings(shortened(p), c.asset, language), nil
}

// again repeats the request in the same conversation after an unusable answer. An answer that
// is only too long is better than none.
func (c *conversation) again(ctx context.Context, first enrichment.Proposal, problem error) (enrichment.Proposal, error) {
	reply, err := c.say(ctx, Question{Prompt: repair(problem, c.request.Language), Model: c.request.Model.ID, Contexts: c.request.Contexts})
	p, second := enrichment.Proposal{}, error(nil)
	if err == nil {
		p, second = proposalOf(reply)
	}
	switch {
	case err == nil && isUsable(second):
		return p, nil
	case isUsable(problem):
		return first, nil
	case err != nil:
		return p, err
	}
	return p, &answerError{second}
}

// An answerError reports that a model ignored the requested form. Another attempt may succeed.
type answerError struct{ problem error }

func (e *answerError) Error() string {
	return fmt.Sprintf("the model gave no usable answer in two attempts: %v", e.problem)
}
func (e *answerError) Class() retry.Class { return retry.Transient }

// say sends a question and returns the reply. After a lost answer it reads the conversation, so
// that no billed request is sent twice.
func (c *conversation) say(ctx context.Context, q Question) (string, error) {
	reply, err := c.Service.Ask(ctx, c.id, q)
	if err == nil {
		c.calls++
		return reply, nil
	}
	if !errors.Is(err, ErrAsked) {
		return "", err
	}
	patience := c.ConfirmTimeout
	if errors.Is(err, ErrNoReply) {
		patience = 0
	}
	said, lookErr := c.look(ctx, c.id, patience)
	if lookErr != nil {
		return "", &unconfirmedError{err, lookErr}
	}
	before := c.calls
	c.calls = max(before, said.Questions)
	if said.Questions > before && said.Reply != "" {
		return said.Reply, nil
	}
	return "", err
}

// fileNameFor returns the name of an asset with the extension of an image type.
func fileNameFor(a enrichment.AuditedAsset, mediaType string) string {
	return strings.ReplaceAll(clean(a.Name), "/", "-") + "." + strings.TrimPrefix(mediaType, "image/")
}
