package rclone

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"time"

	"assetferry/internal/hint"
	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := o.CheckOffset(offset); err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	r := &reader{ctx: ctx, source: s, object: o.Listed(), size: o.Size, isWhole: offset == 0, opened: time.Now()}
	if r.isWhole {
		r.sum, r.want = s.sum(r.object.VersionTag)
	}
	if r.size > r.object.Size {
		return r.openLonger(offset)
	}
	var err error
	r.Reader, err = remote.Open(ctx, remote.Content{Size: o.Size, Connect: r.connect, TooLong: r.tooLong, Fail: r.fail}, offset)
	if err != nil {
		return nil, s.fail(ctx, "open", o.Key, ofObject(err))
	}
	return r, nil
}

// A reader reads one object to its size.
type reader struct {
	*remote.Reader
	ctx     context.Context
	source  *Source
	object  sources.Object // as listed
	size    int64          // of the content
	isWhole bool           // it began with the first byte
	opened  time.Time
	sum     hash.Hash // of all content; nil if the listing has none
	want    string
	read    int64 // bytes
	end     error // the result of the comparison at the end, once it was made

	cutAtEnd bool // it may be longer than listed; see noteCut
}

// Read implements io.Reader. At the end it checks that the content is the listed version.
func (r *reader) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	if r.sum != nil {
		_, _ = r.sum.Write(p[:n]) // it never fails
	}
	if err == io.EOF {
		r.end = r.check()
		err = r.end
	}
	return n, err
}

const (
	// quickSize and quickTime are the size in bytes and the time up to which a read is too short for a
	// change in the middle of it.
	quickSize = 1 << 20
	quickTime = time.Second
)

// check compares the content with the listing, and returns io.EOF if it is that version. Without a hash,
// a change during a long read shows only in the time of the object.
func (r *reader) check() error {
	if r.sum != nil {
		if got := r.checksum(); got != r.want {
			return r.fail(changed("its checksum is %s instead of %s", got, r.want))
		}
		return io.EOF
	}
	if r.cutAtEnd {
		if err := r.checkLength(); err != nil {
			return r.fail(err)
		}
	}
	if r.object.Size <= quickSize && time.Since(r.opened) < quickTime {
		return io.EOF
	}
	if err := r.look(); err != nil {
		return r.fail(err)
	}
	return io.EOF
}

func (r *reader) checksum() string { return hex.EncodeToString(r.sum.Sum(nil)) }

// changed returns the error for an object that is not the listed one.
func changed(format string, args ...any) error {
	return &remote.Failure{Err: fmt.Errorf("%w: %s", sources.ErrChanged, fmt.Sprintf(format, args...)), Kind: retry.Permanent}
}

// connect requests the content from the next byte on. An empty range cannot be requested, so at the
// end it requests the last byte again.
func (r *reader) connect(next int64) (body *remote.Body, err error) {
	if r.isResized() {
		return nil, r.resized(r.read)
	}
	r.noteCut(next)
	from := min(next, max(r.size-1, 0))
	err = patiently(r.ctx, func(context.Context) error {
		body, err = r.request(from)
		return err
	})
	if err == nil && from < next {
		if _, err = io.CopyN(io.Discard, body, next-from); err != nil {
			body.Close()
			return nil, &remote.Cut{Err: cutOff(err)}
		}
	}
	return body, err
}

func (r *reader) request(from int64) (*remote.Body, error) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	header := http.Header{"Accept-Encoding": {"identity"}} // without it, compressed objects would be unpacked
	if from > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	a, err := r.source.server.Get(ctx, r.source.root, string(r.object.Key), header)
	if err != nil {
		cancel(nil)
		return nil, r.refused(err)
	}
	body := remote.Watch(a.Body, cancel)
	if err := r.checkAnswer(a, from); err != nil {
		body.Close()
		return nil, err
	}
	return body, nil
}

// checkAnswer checks that a response has the listed version, from a byte on.
func (r *reader) checkAnswer(a *http.Response, from int64) error {
	size := a.ContentLength
	switch {
	case a.StatusCode == http.StatusPartialContent:
		first, total, ok := remote.ParseRange(a.Header.Get("Content-Range"))
		if !ok || first != from {
			return changed("rclone returned another range than from byte %d on", from)
		}
		size = total
	case a.StatusCode != http.StatusOK:
		return changed("it does not have the listed %d bytes", r.object.Size)
	case from > 0:
		return &remote.Failure{Err: errors.New("rclone returned the whole object instead of a range"), Kind: retry.Permanent}
	}
	if size >= 0 && size != r.object.Size {
		return changed("it has %d bytes instead of the listed %d", size, r.object.Size)
	}
	t, err := http.ParseTime(a.Header.Get("Last-Modified"))
	switch {
	case err != nil && r.needsLook(): // as of rclone before 1.61
		return r.look()
	case err == nil && !r.isListed(t, time.Second):
		return changed("it was modified at %s instead of %s", t.Format(time.RFC3339), r.object.Time.Format(time.RFC3339))
	}
	return nil
}

// needsLook reports whether its version shows only in a look at the object.
func (r *reader) needsLook() bool {
	return !r.object.Time.IsZero() || r.object.VersionTag != "" && r.sum == nil
}

// isListed compares a time with the listed one. Either may be in a coarser unit.
func (r *reader) isListed(t time.Time, unit time.Duration) bool {
	listed := r.object.Time
	return listed.IsZero() || t.Sub(listed.Truncate(unit)).Abs() < max(r.source.abilities.precision, unit)
}

// look compares the object as it is now with the listed one.
func (r *reader) look() error {
	now, err := r.source.stat(r.ctx, string(r.object.Key), r.source.abilities.asked())
	if err != nil {
		return err
	}
	return r.compare(now)
}

func (r *reader) compare(now found) error {
	unit := time.Duration(1)
	if r.source.abilities.coarse && now.time.Nanosecond() == 0 {
		unit = time.Second
	}
	switch {
	case now.isDir:
		return &remote.Failure{Err: fs.ErrNotExist, Kind: retry.Permanent}
	case now.size != r.object.Size, !now.time.IsZero() && !r.isListed(now.time, unit), now.tag != "" && r.object.VersionTag != "" && now.tag != r.object.VersionTag:
		return changed("it has %d bytes and was modified at %s", now.size, now.time.Format(time.RFC3339))
	}
	return nil
}

// errOpen means that a storage refuses an object that it lists; rclone does not say why.
var errOpen error = hint.New(errors.New("rclone cannot open the object"), "rclone cat REMOTE:PATH prints the reason")

// refused returns the error of an object that was not delivered. For one that it cannot open, rclone
// says that it does not exist, so the object is looked up.
func (r *reader) refused(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.look(); err != nil {
		return err
	}
	return &remote.Failure{Err: errOpen, Kind: retry.Transient}
}

// fail converts the errors of Read.
func (r *reader) fail(err error) error {
	if r.mayBeLonger(err) {
		if length := r.checkLength(); isSizeError(length) {
			err = length
		}
	}
	if _, tooOften := errors.AsType[*retry.CutError](err); tooOften {
		err = &remote.Failure{Err: err, Kind: retry.Transient}
	}
	if r.endsEarly(err) && r.readsEqual() {
		err = r.resized(r.read)
	}
	return r.source.fail(r.ctx, "read", r.object.Key, ofObject(err))
}

func (r *reader) tooLong() error {
	if r.size < r.object.Size { // its size was corrected in a run before
		if err := r.checkLength(); err != nil {
			return err
		}
	}
	return changed("rclone sent more than the listed %d bytes", r.object.Size)
}

// Describe implements sources.Describer.
func (r *reader) Describe(ctx context.Context) (sources.Description, error) {
	return r.source.Describe(ctx, r.object)
}
