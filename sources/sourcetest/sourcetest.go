// Package sourcetest has the tests that every adapter of a source must pass: the guarantees of
// package sources, each as its own case.
//
// A test of an adapter calls Run. Check applies the laws that need no changes to any source.
package sourcetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assetferry/sources"
)

// A File is a file in a fixture.
type File struct {
	Key     sources.Key
	Content []byte
}

// A Fixture is a source with functions that change it. A function is nil if an adapter does not
// support it in a test; cases that need it are skipped.
type Fixture struct {
	Source sources.Source
	// Put creates or replaces a file. A replacement must change the time, too.
	Put    func(File) error
	Remove func(sources.Key) error
	// Vanish removes the source itself.
	Vanish func() error
	// KeepVersions makes a sources.Historian keep what Put replaces, from now on.
	KeepVersions func() error
	// DropVersion deletes an older version of an object.
	DropVersion func(sources.Object) error
	// StopBackground ends background work, such as idle connections, before goroutines are
	// counted.
	StopBackground func()
}

// An Option is a property of an adapter.
type Option func(*suite)

// Storable sets a function that reports whether the adapter can store keys together. Without it,
// all keys can be stored.
func Storable(storable func(keys ...sources.Key) bool) Option {
	return func(s *suite) { s.storable = storable }
}

// Many sets the number of objects that is more than a page; the default is 2,500.
func Many(n int) Option {
	return func(s *suite) { s.many = n }
}

// Run tests an adapter. Each call of newFixture must return a source with exactly these files.
func Run(t *testing.T, newFixture func(tb testing.TB, files []File) Fixture, options ...Option) {
	s := newSuite(newFixture, options)
	cases := generalCases()
	if _, ok := s.on(t).create(t, nil).Source.(sources.Historian); ok {
		cases = append(cases, versionCases()...)
	}
	for _, c := range cases {
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

// A suite creates the fixtures of an adapter.
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

// fixture returns a source with the files that the adapter can store.
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
	if f.StopBackground == nil {
		f.StopBackground = func() {}
	}
	return f, files
}

// A testCase is one guarantee. It returns errors.ErrUnsupported if the adapter does not support the
// needed change in a test.
type testCase struct {
	name string
	run  func(context.Context, suite) error
}

func cases() []testCase { return append(generalCases(), versionCases()...) }

// generalCases are the guarantees of all sources, also of those without older versions.
func generalCases() []testCase {
	list := contentCases()
	for _, l := range laws() {
		list = append(list, testCase{l.name, func(ctx context.Context, s suite) error {
			f, _ := s.fixture(sample())
			return l.check(ctx, f)
		}})
	}
	return list
}
