package remote

import (
	"context"
	"time"

	"assetferry/internal/retry"
)

// LongestWait is the maximum time that a request waits because the server asked for it. Longer delays
// are left to a retry of the whole operation.
const LongestWait = 10 * time.Second

// Patiently retries by a policy, unless a server asks for a longer delay than LongestWait.
func Patiently(ctx context.Context, p retry.Policy, try func(context.Context) error) error {
	return p.Do(ctx, nil, func(ctx context.Context) error {
		err := try(ctx)
		if _, wait := retry.Classify(err); wait > LongestWait {
			return retry.Stop(err)
		}
		return err
	})
}
