package remote

import (
	"context"
	"time"

	"assetferry/internal/retry"
)

// LongestWait is the longest that a request waits because a server asked for it; whoever asks
// for more is told later, by an attempt of its own.
const LongestWait = 10 * time.Second

// Patiently tries what may go better the next time, unless a server asks to wait too long for
// that.
func Patiently(ctx context.Context, p retry.Policy, try func(context.Context) error) error {
	return p.Do(ctx, nil, func(ctx context.Context) error {
		err := try(ctx)
		if _, wait := retry.Classify(err); wait > LongestWait {
			return retry.Stop(err)
		}
		return err
	})
}
