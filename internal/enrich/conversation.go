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

// conversationID returns the ID for a new conversation. Its prefix shows administrators of the
// service where the conversation comes from.
func conversationID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return "assetferry-" + hex.EncodeToString(id[:])
}

// recordTimeout limits storing a result, which also happens after the run was cancelled.
const recordTimeout = 30 * time.Second

// recording returns a context for work that must be done even after an interrupt.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(retry.WithDrain(context.WithoutCancel(ctx), nil), recordTimeout)
}

// resolveConversations resolves the conversations of an interrupted process, and its requests without a
// conversation.
func (r *asker) resolveConversations(ctx context.Context) error {
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(r.Concurrency)
	for c, err := range r.Store.Conversations(ctx, r.Host) {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		if c.Spent {
			continue
		}
		g.Go(func() error { return r.resolveConversation(parallel, c) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	_, err := r.Store.AbandonAsking(ctx, r.Destination, r.Host)
	return err
}

// resolveConversation stores the reply of a conversation, if it is usable. If the service does not
// answer, the conversation stays for the next run, unless the error affects all of them.
func (r *asker) resolveConversation(ctx context.Context, c enrichment.Conversation) error {
	said, err := r.look(ctx, c.ID, r.ConfirmTimeout-r.Now().Sub(c.At))
	if isFatal(err) {
		return err
	} else if err != nil {
		r.leave()
		return context.Cause(ctx)
	}
	a := enrichment.Answer{Num: c.Enrichment.Num, State: enrichment.Planned, Model: c.Enrichment.Proposal.Model, Calls: said.Questions}
	p, err := proposalOf(said.Reply)
	if isUsable(err) {
		p = withWarnings(shortened(p), enrichment.AuditedAsset{}, c.Enrichment.Language)
		a.State, a.Proposal = enrichment.Proposed, &p
	}
	return r.record(ctx, []Outcome{outcomeOf(c.Enrichment)}, []enrichment.Answer{a})
}

// isUsable reports whether the error of parsing an answer leaves a usable proposal.
func isUsable(err error) bool {
	_, long := errors.AsType[*tooLongError](err)
	return err == nil || long
}

// look reads a conversation. A reply may still arrive, because the service continues without a
// listener. So look repeats the query with growing pauses until timeout is over.
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

// forgetTime limits deleting a conversation. The next run deletes those that are left.
const forgetTime = 10 * time.Second

// maxUndeleted is the number of failed deletions after which no others are tried.
const maxUndeleted = 5

// CleanUp deletes the conversations of runs at the service. It returns how many are left, or
// may be left. Conversations whose reply is still unknown are kept.
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
			deleted, err := false, error(nil)
			if !giveUp && c.Spent {
				deleted, err = e.forget(parallel, c.ID)
			}
			mu.Lock()
			defer mu.Unlock()
			if !deleted {
				left++
			}
			if !deleted && c.Spent {
				undeleted++
			}
			return err
		})
	}
	err = g.Wait() // after this no goroutine counts
	return left, err
}

// forget deletes a conversation at the service, and then from the state database. A failed
// deletion is no error: the next run repeats it.
func (e *Engine) forget(ctx context.Context, id string) (deleted bool, err error) {
	soon, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	if err := e.Service.Forget(soon, id); err != nil {
		return false, context.Cause(ctx)
	}
	ctx, cancel = recording(ctx)
	defer cancel()
	return true, e.Store.ForgetConversation(ctx, e.Host, id)
}
