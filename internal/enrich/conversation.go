package enrich

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// conversationID gives the id of a conversation that is about to be made. It tells whose it
// is to who looks at those of the service.
func conversationID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return "assetferry-" + hex.EncodeToString(id[:])
}

// recordTimeout is how long what has happened may take to be written down, also once nobody
// waits for anything else any more.
const recordTimeout = 30 * time.Second

// recording is a context for what must be done even after an interrupt.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(retry.WithDrain(context.WithoutCancel(ctx), nil), recordTimeout)
}

// settle finds out what became of conversations that a process left when it died, and of
// questions that were no conversations.
func (r *asker) settle(ctx context.Context) error {
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(r.Concurrency)
	for c, err := range r.Store.Conversations(ctx, r.Host) {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		if c.Spent {
			continue
		}
		g.Go(func() error { return r.settleOne(parallel, c) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	_, err := r.Store.AbandonAsking(ctx, r.Destination, r.Host)
	return err
}

// settleOne takes the reply of a conversation, if there is one that can be used. Where nobody
// can tell the conversation stays for the next run, unless it would fail for all of them.
func (r *asker) settleOne(ctx context.Context, c enrichment.Conversation) error {
	said, err := r.look(ctx, c.ID, r.Settle-r.Now().Sub(c.At))
	if isFatal(err) {
		return err
	} else if err != nil {
		r.leave()
		return context.Cause(ctx)
	}
	a := enrichment.Answer{Num: c.Enrichment.Num, State: enrichment.Planned, Model: c.Enrichment.Proposal.Model, Calls: said.Questions}
	p, err := proposalOf(said.Reply)
	if isUsable(err) {
		p = remarked(shortened(p), enrichment.Surveyed{}, c.Enrichment.Language)
		a.State, a.Proposal = enrichment.Proposed, &p
	}
	return r.record(ctx, []Outcome{outcomeOf(c.Enrichment)}, []enrichment.Answer{a})
}

// isUsable reports whether what came of reading an answer is a proposal.
func isUsable(err error) bool {
	_, long := errors.AsType[*tooLongError](err)
	return err == nil || long
}

// look finds out what was said in a conversation. A reply may be on its way still: the
// service goes on with it when nobody listens. Then this looks again for so long, after ever
// longer pauses.
func (e *Engine) look(ctx context.Context, conversation string, left time.Duration) (said Exchange, err error) {
	for pause := time.Second; ; pause *= 2 {
		said, err = e.Service.Exchange(ctx, conversation)
		if errors.Is(err, fs.ErrNotExist) {
			return Exchange{}, nil
		}
		if err != nil || said.Questions == 0 || said.Reply != "" || left <= 0 {
			return said, err
		}
		pause = min(pause, left)
		if err := retry.Sleep(ctx, pause); err != nil {
			return said, err
		}
		left -= pause
	}
}

// forgetTime is how long deleting a conversation may take: what is not deleted now is so by
// the next run.
const forgetTime = 10 * time.Second

// maxUndeleted is after how many conversations that the service did not delete no others are
// tried.
const maxUndeleted = 5

// CleanUp deletes the conversations that runs left at the service, and gives how many are
// there still, or may be. It deletes none of which the reply is not known yet.
func (e *Engine) CleanUp(ctx context.Context) (left int64, err error) {
	var mu sync.Mutex
	undeleted := 0
	e.Observer.Phase("clean up", -1)
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(e.Concurrency)
	for c, err := range e.Store.Conversations(ctx, e.Host) {
		if err != nil {
			err = errors.Join(err, g.Wait())
			return left, err
		}
		g.Go(func() error {
			mu.Lock()
			giveUp := undeleted >= maxUndeleted
			mu.Unlock()
			gone, err := false, error(nil)
			if !giveUp && c.Spent {
				gone, err = e.forget(parallel, c.ID)
			}
			mu.Lock()
			defer mu.Unlock()
			if !gone {
				left++
			}
			if !gone && c.Spent {
				undeleted++
			}
			return err
		})
	}
	err = g.Wait() // only then nobody counts any more
	return left, err
}

// forget deletes a conversation, and only then forgets it. That the service does not do it
// now is no error: the next run tries again.
func (e *Engine) forget(ctx context.Context, id string) (gone bool, err error) {
	soon, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	if err := e.Service.Forget(soon, id); err != nil {
		return false, context.Cause(ctx)
	}
	ctx, cancel = recording(ctx)
	defer cancel()
	return true, e.Store.ForgetConversation(ctx, e.Host, id)
}
