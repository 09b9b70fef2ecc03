package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assetferry/sources"
)

// Check reports how a source breaks the laws that can be seen without changing
// it, and, if keys are given, whether it lists anything but exactly these. The
// source must not change meanwhile. It is listed many times and read three times.
func Check(ctx context.Context, src sources.Source, want ...sources.Key) error {
	var errs []error
	f := Fixture{Source: src, Settle: func() {}}
	for _, l := range laws() {
		if err := l.check(ctx, f); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.name, err))
		}
	}
	if len(want) > 0 {
		errs = append(errs, lists(ctx, src, "", slices.Sorted(slices.Values(want))))
	}
	return errors.Join(errs...)
}
