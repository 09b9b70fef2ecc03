package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assetferry/sources"
)

// Check returns an error if a source breaks a law that can be checked without changes. If keys are
// given, it must list exactly these. The source must not change meanwhile. It is listed many times
// and read three times.
func Check(ctx context.Context, src sources.Source, want ...sources.Key) error {
	var errs []error
	f := Fixture{Source: src, StopBackground: func() {}}
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
