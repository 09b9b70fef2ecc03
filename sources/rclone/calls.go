package rclone

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// largestAnswer is the maximum size of a response that is not a listing, in bytes.
const largestAnswer = 4 << 20

// call runs a command with a small response.
func (s *Source) call(ctx context.Context, command string, in, out any) error {
	body, err := s.server.Call(ctx, command, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, largestAnswer)).Decode(out); err != nil {
		return &remote.Failure{Err: fmt.Errorf("rclone sent an invalid response to %s: %w", command, cutOff(err)), Kind: retry.Transient}
	}
	return nil
}

const (
	// attempts is the number of attempts at a request with a temporary error.
	attempts = 7
	// throttledTime is the time that a request may take that the storage throttles. rclone does not
	// return the wait that a storage asks for, and two minutes are common.
	throttledTime = 5 * time.Minute
	// firstTime ends the attempts at a storage that has not answered yet. Its URL may be wrong, and
	// rclone repeats each attempt for several seconds.
	firstTime = 10 * time.Second
)

// patiently retries temporary errors, and longer those of a storage that limits requests. rclone has
// repeated such requests itself, with pauses of seconds.
func patiently(ctx context.Context, try func(context.Context) error) error {
	failed := 0
	p := retry.Policy{Attempts: math.MaxInt, Max: 10 * time.Second, MaxTime: throttledTime}
	return remote.Patiently(ctx, p, func(ctx context.Context) error {
		err := try(ctx)
		if class, _ := retry.Classify(err); err != nil && class != retry.Throttled {
			if failed++; failed == attempts {
				return retry.Stop(err)
			}
		}
		return err
	})
}

// contact is patiently for a storage that may have to be reached first.
func (s *Source) contact(ctx context.Context, try func(context.Context) error) error {
	begun := time.Now()
	return patiently(ctx, func(ctx context.Context) error {
		err := try(ctx)
		if class, _ := retry.Classify(err); err != nil && class == retry.Transient && !s.reached.Load() && time.Since(begun) > firstTime {
			return retry.Stop(err)
		}
		return err
	})
}

// A found is an object or a folder that was looked up.
type found struct {
	entry
	metadata map[string]string
}

// stat looks up a path, or returns fs.ErrNotExist.
func (s *Source) stat(ctx context.Context, path string, o listOptions) (found, error) {
	var out struct{ Item json.RawMessage }
	err := patiently(ctx, func(ctx context.Context) error {
		return s.call(ctx, "operations/stat", map[string]any{"fs": s.root, "remote": path, "opt": o}, &out)
	})
	if err != nil {
		return found{}, err
	}
	if len(out.Item) == 0 || string(out.Item) == "null" {
		return found{}, &remote.Failure{Err: fs.ErrNotExist, Kind: retry.Permanent}
	}
	e, err := s.parse(out.Item)
	if err != nil || !o.Metadata {
		return found{entry: e}, err
	}
	var with struct{ Metadata map[string]string }
	err = json.Unmarshal(out.Item, &with)
	return found{e, with.Metadata}, err
}
