package sources

import (
	"context"
	"errors"
	"iter"
)

// errStop means that the consumer ended the loop.
var errStop = errors.New("the loop has ended")

// Sequence returns the result of [Source.Objects]. It calls list in each loop, with a function for each
// object. That function returns an error if the loop has ended or ctx is cancelled; list then ends
// with it. Any other error is yielded in the form that fail returns.
func Sequence(ctx context.Context, list func(yield func(Object) error) error, fail func(error) error) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		err := context.Cause(ctx)
		if err == nil {
			err = list(func(o Object) error {
				switch {
				case ctx.Err() != nil:
					return context.Cause(ctx)
				case !yield(o, nil):
					return errStop
				}
				return nil
			})
		}
		switch {
		case errors.Is(err, errStop):
			return
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err != nil:
			err = fail(err)
		}
		if err != nil {
			yield(Object{}, err)
		}
	}
}
