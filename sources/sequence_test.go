package sources

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// listed consumes a sequence of ten objects up to a number of them. The listing ends with an error.
func listed(ctx context.Context, end error, most int, each func()) (count int, err error) {
	objects := Sequence(ctx, func(yield func(Object) error) error {
		for range 10 {
			if err := yield(Object{Key: "a"}); err != nil {
				return errors.Join(err, end)
			}
		}
		return end
	}, func(err error) error { return fmt.Errorf("list: %w", err) })
	for o, e := range objects {
		if e != nil {
			return count, e
		}
		if count++; o.Key != "a" || count == most {
			break
		}
		each()
	}
	return count, nil
}

func TestSequence(t *testing.T) {
	broken, cause := errors.New("broken"), errors.New("the user stopped it")
	for name, end := range map[string]error{"a complete listing": nil, "a broken one": broken} {
		count, err := listed(t.Context(), end, 11, func() {})
		if count != 10 || !errors.Is(err, end) || end != nil && err.Error() != "list: broken" {
			t.Errorf("%s: %d objects, %v", name, count, err)
		}
		if count, err := listed(t.Context(), end, 3, func() {}); count != 3 || err != nil {
			t.Errorf("%s, ended by the consumer: %d objects, %v", name, count, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		if count, err := listed(ctx, end, 11, func() { cancel(cause) }); count != 1 || err != cause {
			t.Errorf("%s, cancelled: %d objects, %v", name, count, err)
		}
		if count, err := listed(ctx, end, 11, func() {}); count != 0 || err != cause {
			t.Errorf("%s, cancelled before: %d objects, %v", name, count, err)
		}
	}
}
