package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"assetferry/sources"
)

// versionCases are the guarantees of sources with older versions of objects.
func versionCases() []testCase {
	return []testCase{
		{"has no older versions of new objects", hasNoVersions},
		{"lists older versions, the newest first", listsVersions},
		{"lists versions of objects in any order", listsVersionsInAnyOrder},
		{"lists as many versions as are asked for", stopsAtVersion},
		{"reads older versions from everywhere", readsVersions},
		{"reports a deleted version", refusesDroppedVersion},
		{"ends a list of versions when cancelled", cancelsVersions},
		{"changes nothing for versions", onlyReadsVersions},
	}
}

// A versioned is a source with older versions.
type versioned struct {
	Fixture
	sources.Historian
	contents map[sources.Key][][]byte // the oldest first
}

// versioned returns a source some of whose objects have older versions.
func (s suite) versioned() (versioned, error) {
	v := versioned{contents: map[sources.Key][][]byte{}}
	files := sample()[:6]
	v.Fixture, files = s.fixture(files)
	historian, ok := v.Source.(sources.Historian)
	if !ok || v.KeepVersions == nil || v.Put == nil {
		return v, fmt.Errorf("keeping older versions: %w", errors.ErrUnsupported)
	}
	v.Historian = historian
	if err := v.KeepVersions(); err != nil {
		return v, err
	}
	for n, f := range files {
		v.contents[f.Key] = [][]byte{f.Content}
		for version := range []int{0, 1, 4, 2, 0, 3}[n] {
			content := append(noise(70_000*version), fmt.Sprintf("%s, %d", f.Key, version)...)
			if err := v.Put(File{f.Key, content}); err != nil {
				return v, err
			}
			v.contents[f.Key] = append(v.contents[f.Key], content)
		}
	}
	return v, nil
}

// older returns the older contents of an object, the newest first.
func (v versioned) older(key sources.Key) [][]byte {
	all := slices.Clone(v.contents[key])
	slices.Reverse(all)
	return all[1:]
}

// most returns the object with the most older versions.
func (v versioned) most(ctx context.Context) (sources.Object, error) {
	var key sources.Key
	for k, all := range v.contents {
		if len(all) > len(v.contents[key]) {
			key = k
		}
	}
	return find(ctx, v.Source, key)
}

// versions lists the older versions of an object.
func (v versioned) versions(ctx context.Context, o sources.Object) (all []sources.Object, err error) {
	v.Versions(ctx, o)(func(version sources.Object, failed error) bool {
		if err = failed; err == nil {
			all = append(all, version)
		}
		return err == nil
	})
	return all, err
}

func hasNoVersions(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	if kept, err := v.KeepsVersions(ctx); err != nil || !kept {
		return errors.Join(fmt.Errorf("whether it keeps versions: %v", kept), err)
	}
	for key, contents := range v.contents {
		o, err := find(ctx, v.Source, key)
		if err != nil {
			return err
		}
		if all, err := v.versions(ctx, o); len(contents) == 1 && (err != nil || len(all) > 0) {
			return errors.Join(fmt.Errorf("a new object has the versions %+v", all), err)
		}
	}
	return nil
}

func listsVersions(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	objects, err := byKey(ctx, v.Source)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(v.contents)) {
		if err := v.hasHistory(ctx, objects[key]); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	return nil
}

// hasHistory checks the older versions of an object, and that the object itself is the newest one.
func (v versioned) hasHistory(ctx context.Context, o sources.Object) error {
	want := v.older(o.Key)
	all, err := v.versions(ctx, o)
	if err != nil {
		return err
	}
	if len(all) != len(want) {
		return fmt.Errorf("%d older versions are listed, want %d", len(all), len(want))
	}
	last, seen := o, map[string]bool{"": true}
	for n, version := range all {
		switch {
		case version.Key != o.Key:
			return fmt.Errorf("a version has the key %q", version.Key)
		case seen[version.Version]:
			return fmt.Errorf("version %q is not unique", version.Version)
		case version.Time.After(last.Time):
			return fmt.Errorf("%+v is newer than %+v", version, last)
		case version.Size != int64(len(want[n])):
			return fmt.Errorf("version %d has %d bytes, want %d", n, version.Size, len(want[n]))
		}
		content, err := read(ctx, v.Source, version, 0)
		if err != nil {
			return err
		}
		if !bytes.Equal(content, want[n]) {
			return fmt.Errorf("version %d has other content", n)
		}
		last, seen[version.Version] = version, true
	}
	current, err := read(ctx, v.Source, o, 0)
	if contents := v.contents[o.Key]; err == nil && !bytes.Equal(current, contents[len(contents)-1]) {
		err = errors.New("the object itself has other content")
	}
	return err
}

func listsVersionsInAnyOrder(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	objects, err := byKey(ctx, v.Source)
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(v.contents))
	slices.Reverse(keys)
	for _, key := range append(keys, keys...) {
		if all, err := v.versions(ctx, objects[key]); err != nil || len(all) != len(v.older(key)) {
			return errors.Join(fmt.Errorf("%q has %d versions, want %d", key, len(all), len(v.older(key))), err)
		}
	}
	return nil
}

func stopsAtVersion(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	o, err := v.most(ctx)
	if err != nil {
		return err
	}
	for most := range len(v.older(o.Key)) {
		n := 0
		v.Versions(ctx, o)(func(sources.Object, error) bool { n++; return n <= most })
		if n > most+1 {
			return fmt.Errorf("%d versions came after the loop ended at number %d", n-most-1, most+1)
		}
	}
	return nil
}

func readsVersions(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	o, err := v.most(ctx)
	if err != nil {
		return err
	}
	all, err := v.versions(ctx, o)
	for _, version := range all {
		if err := readsFromAnywhere(ctx, v.Source, version); err != nil {
			return fmt.Errorf("version %q: %w", version.Version, err)
		}
	}
	return err
}

func refusesDroppedVersion(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	if v.DropVersion == nil {
		return fmt.Errorf("deleting a version: %w", errors.ErrUnsupported)
	}
	o, err := v.most(ctx)
	if err != nil {
		return err
	}
	all, err := v.versions(ctx, o)
	if err != nil || len(all) < 2 {
		return errors.Join(fmt.Errorf("%d versions", len(all)), err)
	}
	if err := v.DropVersion(all[1]); err != nil {
		return err
	}
	if _, err := read(ctx, v.Source, all[1], 0); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("error is %v, want %v", err, fs.ErrNotExist)
	}
	for n, version := range all {
		if _, err := read(ctx, v.Source, version, 0); n != 1 && err != nil {
			return fmt.Errorf("another version: %w", err)
		}
	}
	return nil
}

func cancelsVersions(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	o, err := v.most(ctx)
	if err != nil {
		return err
	}
	cause := errors.New("cancelled by the suite")
	within, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	if all, err := v.versions(within, o); !errors.Is(err, cause) || len(all) > 0 {
		return fmt.Errorf("%d versions and the error %v, want %v", len(all), err, cause)
	}
	return nil
}

func onlyReadsVersions(ctx context.Context, s suite) error {
	v, err := s.versioned()
	if err != nil {
		return err
	}
	before, err := v.all(ctx)
	if err != nil {
		return err
	}
	after, err := v.all(ctx)
	for key, now := range after {
		if was := before[key]; err == nil && !slices.Equal(now, was) {
			err = fmt.Errorf("%q has the versions %+v, and had %+v", key, now, was)
		}
	}
	return err
}

// all reads all objects and their older versions. For each key, it returns the object and its versions.
func (v versioned) all(ctx context.Context) (map[sources.Key][]sources.Object, error) {
	objects, err := byKey(ctx, v.Source)
	if err != nil {
		return nil, err
	}
	found := map[sources.Key][]sources.Object{}
	for key, o := range objects {
		older, err := v.versions(ctx, o)
		if err != nil {
			return nil, err
		}
		found[key] = append([]sources.Object{o}, older...)
		for _, version := range found[key] {
			if _, err := read(ctx, v.Source, version, 0); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}
