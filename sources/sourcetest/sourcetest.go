// Package sourcetest holds the law that every adapter of a source must pass:
// the promises of package sources, each as a case that can fail alone.
//
// Run is the one line in an adapter's test. Check applies those of the laws that
// need no changes to any source, and returns what it finds.
package sourcetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assetferry/sources"
)

// A File is what a fixture stores under a key.
type File struct {
	Key     sources.Key
	Content []byte
}

// A Fixture is a source and the ways to change what is in it. A function is nil
// where an adapter cannot do it in a test; the cases that need it are skipped.
type Fixture struct {
	Source sources.Source
	// Put stores a file, also in the place of another one, whose time must then
	// change, too.
	Put    func(File) error
	Remove func(sources.Key) error
	// Vanish takes the source itself away.
	Vanish func() error
	// Settle ends what may go on running between calls, such as idle
	// connections, before goroutines are counted.
	Settle func()
}

// An Option says what an adapter is able to do.
type Option func(*suite)

// Storable says which keys the adapter can store together. Without it any set of
// keys can be stored.
func Storable(storable func(keys ...sources.Key) bool) Option {
	return func(s *suite) { s.storable = storable }
}

// Many sets how many objects are more than a page; it is 2,500 without it.
func Many(n int) Option {
	return func(s *suite) { s.many = n }
}

// Run holds an adapter to the law. Each call of newFixture returns a source with
// exactly these files.
func Run(t *testing.T, newFixture func(tb testing.TB, files []File) Fixture, options ...Option) {
	s := newSuite(newFixture, options)
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			err := c.run(t.Context(), s.on(t))
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A suite makes the fixtures of an adapter.
type suite struct {
	tb       testing.TB
	create   func(testing.TB, []File) Fixture
	storable func(...sources.Key) bool
	many     int
}

func newSuite(create func(testing.TB, []File) Fixture, options []Option) suite {
	s := suite{create: create, storable: func(...sources.Key) bool { return true }, many: 2500}
	for _, o := range options {
		o(&s)
	}
	return s
}

func (s suite) on(tb testing.TB) suite {
	s.tb = tb
	return s
}

// fixture returns a source with those of the files that the adapter can store.
func (s suite) fixture(files []File) (Fixture, []File) {
	if !s.storable(keysOf(files)...) {
		var keys []sources.Key
		files = slices.DeleteFunc(slices.Clone(files), func(f File) bool {
			if !s.storable(append(keys, f.Key)...) {
				return true
			}
			keys = append(keys, f.Key)
			return false
		})
	}
	f := s.create(s.tb, files)
	if f.Settle == nil {
		f.Settle = func() {}
	}
	return f, files
}

// A testCase is one promise. It returns errors.ErrUnsupported if the adapter
// cannot do in a test what is needed to see it broken.
type testCase struct {
	name string
	run  func(context.Context, suite) error
}

func cases() []testCase {
	list := contentCases()
	for _, l := range laws() {
		list = append(list, testCase{l.name, func(ctx context.Context, s suite) error {
			f, _ := s.fixture(sample())
			return l.check(ctx, f)
		}})
	}
	return list
}
