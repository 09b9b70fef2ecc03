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

// maxFile is the most bytes of a file that are read to make a picture of.
const maxFile = 64 << 20

// describe asks about one asset. Its error is one of the journal.
func (r *asker) describe(ctx context.Context, l Leaving) error {
	o := Outcome{Asset: l.Asset, Path: Path(l.Surveyed), Kind: enrichment.KindDescribe, Language: r.request.Language}
	now, err := r.Library.Asset(ctx, l.Asset)
	if err != nil {
		return r.failWithout(ctx, l.Surveyed, o, err)
	}
	a, changed := r.asItIs(l, now)
	if changed {
		return nil
	}
	shown, err := r.show(ctx, a)
	if err != nil {
		return r.failWithout(ctx, a, o, err)
	}
	c := conversation{asker: r, asset: a, id: conversationID(), shown: shown}
	if c.num, err = r.intend(ctx, a, c.id); err != nil {
		return err
	}
	answer, settled := c.hold(ctx)
	if !settled || ctx.Err() != nil && answer.State == enrichment.Planned {
		r.leave()
		return context.Cause(ctx) // the next run finds out what came of it
	}
	if err := r.record(ctx, []Outcome{o}, []enrichment.Answer{answer}); err != nil {
		return err
	}
	_, err = r.forget(ctx, c.id)
	return err
}

// asItIs is an asset of the survey as the service has it now. Somebody may have described
// it since, or said that it must not leave: then it is left for the next survey.
func (r *asker) asItIs(l Leaving, now assets.Asset) (a enrichment.Surveyed, changed bool) {
	c := assets.Category{ID: l.Category, Name: l.CategoryName, Private: l.Private}
	a = surveyed(now, c, l.Folder, r.request.Language)
	if now.CategoryID != l.Category || now.FolderID != l.FolderID {
		return a, true // who knows what its new place is called
	}
	return a, !r.request.isAbout(enrichment.Enrichable{Surveyed: a, Enrichment: l.Enrichment}) || r.request.Rules.holdsBack(a) != ""
}

// intend notes what is about to be asked, in a conversation if it has an id.
func (r *asker) intend(ctx context.Context, a enrichment.Surveyed, conversation string) (int64, error) {
	nums, err := r.Store.Ask(ctx, r.run, []enrichment.Question{r.asking(a, conversation)})
	if err != nil {
		return 0, err
	}
	return nums[0], nil
}

func (r *asker) asking(a enrichment.Surveyed, conversation string) enrichment.Question {
	return enrichment.Question{Asset: a.Asset, Kind: r.request.Kind, Language: r.request.Language, Conversation: conversation, Basis: enrichment.Basis{
		Size: a.Size, Width: a.Width, Height: a.Height, Blur: a.Blur, Description: a.Description, Tags: a.Tags,
		Attribute: r.request.attribute, Value: attributeOf(a.Attributes, r.request.attribute)}}
}

// failWithout records the failure of an asset that could not even be asked about.
func (r *asker) failWithout(ctx context.Context, a enrichment.Surveyed, o Outcome, err error) error {
	answer := r.failed(ctx, 0, err)
	if answer.State == enrichment.Planned {
		return context.Cause(ctx)
	}
	if answer.Num, err = r.intend(ctx, a, ""); err != nil {
		return err
	}
	return r.record(ctx, []Outcome{o}, []enrichment.Answer{answer})
}

// A pictureError says that a picture cannot be shown to a model. The same picture never does
// better.
type pictureError struct{ error }

func (e *pictureError) Unwrap() error      { return e.error }
func (e *pictureError) Class() retry.Class { return retry.Permanent }

// show gives the picture of an asset as a model takes it: the rendition of the service, or
// else the file.
func (r *asker) show(ctx context.Context, a enrichment.Surveyed) (picture.Picture, error) {
	addresses := slices.DeleteFunc([]string{a.Image, a.URL}, func(address string) bool { return address == "" })
	err := error(&pictureError{errors.New("it has no address")})
	for _, address := range addresses {
		var shown picture.Picture
		if shown, err = r.fetch(ctx, address); err == nil || retriable(err) {
			return shown, err
		}
	}
	return picture.Picture{}, err
}

// retriable reports whether another address is not to be tried instead.
func retriable(err error) bool {
	class, _ := retry.Classify(err)
	return class != retry.Permanent
}

func (r *asker) fetch(ctx context.Context, address string) (shown picture.Picture, err error) {
	body, _, err := r.Library.Download(ctx, address, 0)
	if err != nil {
		return shown, err
	}
	content, err := io.ReadAll(io.LimitReader(body, maxFile+1))
	if err = errors.Join(err, body.Close()); err != nil {
		return shown, err
	}
	if len(content) > maxFile {
		return shown, &pictureError{fmt.Errorf("%w: there is no smaller picture of it than its file, which has more than %d MB", picture.ErrTooLarge, maxFile>>20)}
	}
	shown, err = picture.Fit(ctx, content, picture.Limits{Bytes: r.request.Model.MaxImageBytes})
	if errors.Is(err, picture.ErrType) || errors.Is(err, picture.ErrTooLarge) || errors.Is(err, picture.ErrBroken) {
		err = &pictureError{err}
	}
	return shown, err
}

// A conversation is one about an asset.
type conversation struct {
	*asker
	asset enrichment.Surveyed
	id    string
	num   int64
	shown picture.Picture
	calls int // that were billed
	bytes int64
}

// hold has a conversation, and gives what came of it. It is not settled where nobody knows
// whether there is a reply.
func (c *conversation) hold(ctx context.Context) (a enrichment.Answer, settled bool) {
	p, err := c.propose(ctx)
	a = enrichment.Answer{Num: c.num, State: enrichment.Proposed, Proposal: &p, Model: c.request.Model.ID}
	if err != nil {
		a = c.failed(ctx, c.num, err)
	}
	a.Calls, a.Bytes = c.calls, c.bytes
	_, open := errors.AsType[*unsettledError](err)
	return a, !open
}

// An unsettledError says that nobody knows whether a question was answered. It is of the
// class of what kept us from finding out.
type unsettledError struct{ asked, looked error }

func (e *unsettledError) Error() string {
	return fmt.Sprintf("%v; whether there is a reply could not be found out: %v", e.asked, e.looked)
}
func (e *unsettledError) Unwrap() []error { return []error{e.looked, e.asked} }
func (e *unsettledError) Class() retry.Class {
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
	c.shown.Data = nil // nobody needs it any more, and answers take long
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
	return remarked(shortened(p), c.asset, language), nil
}

// again asks once more in the same conversation, because an answer cannot be used. One that
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

// An answerError says that a model did not answer as it was asked to. Another time it may.
type answerError struct{ problem error }

func (e *answerError) Error() string {
	return fmt.Sprintf("the model gave no usable answer, twice: %v", e.problem)
}
func (e *answerError) Class() retry.Class { return retry.Transient }

// say sends a question and gives the reply. Where nobody knows what became of it the
// conversation is looked into: what was billed is not asked for a second time.
func (c *conversation) say(ctx context.Context, q Question) (string, error) {
	reply, err := c.Service.Ask(ctx, c.id, q)
	if err == nil {
		c.calls++
		return reply, nil
	}
	if !errors.Is(err, ErrAsked) {
		return "", err
	}
	patience := c.Settle
	if errors.Is(err, ErrNoReply) {
		patience = 0
	}
	said, lookErr := c.look(ctx, c.id, patience)
	if lookErr != nil {
		return "", &unsettledError{err, lookErr}
	}
	before := c.calls
	c.calls = max(before, said.Questions)
	if said.Questions > before && said.Reply != "" {
		return said.Reply, nil
	}
	return "", err
}

// fileNameFor is the name of an asset with the extension of a media type of pictures.
func fileNameFor(a enrichment.Surveyed, mediaType string) string {
	return strings.ReplaceAll(clean(a.Name), "/", "-") + "." + strings.TrimPrefix(mediaType, "image/")
}
