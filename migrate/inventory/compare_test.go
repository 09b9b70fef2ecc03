package inventory

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A contentPair is a source with one object, and a destination with one asset.
type contentPair struct {
	sources.Source
	migrate.Reader
	mine, theirs     []byte
	mineErr, readErr error // of opening and of reading, unless nil
	fromSource       int64 // bytes read
	fromDestination  int64
}

func (p *contentPair) Open(context.Context, sources.Object, int64) (io.ReadCloser, error) {
	return &counted{bytes.NewReader(p.mine), &p.fromSource, nil}, p.mineErr
}

func (p *contentPair) Download(context.Context, string, int64) (io.ReadCloser, int64, error) {
	return &counted{iotest.DataErrReader(bytes.NewReader(p.theirs)), &p.fromDestination, p.readErr}, int64(len(p.theirs)), nil
}

// counted counts what is read, and ends with an error.
type counted struct {
	io.Reader
	n   *int64
	err error
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	*c.n += int64(n)
	if err == io.EOF && c.err != nil {
		err = c.err
	}
	return n, err
}

func (c *counted) Close() error { return nil }

func (p *contentPair) compare(md5 string, size int) ([]byte, error) {
	return Contents{Source: p, Object: sources.Object{Size: int64(len(p.mine))}, Dest: p, Asset: state.Entry{Asset: "a", Size: int64(size)}, MD5: md5}.Compare(context.Background())
}

// TestCompareEqualsChecksums verifies that the comparison has the result of comparing the checksums
// of both contents, whatever checksum the source reports, and that it reads neither more than once.
func TestCompareEqualsChecksums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, 100, blockSize - 1, blockSize, blockSize + 1, 3 * blockSize, largeContent - 1, largeContent, largeContent + 77}).Draw(t, "size")
		p := &contentPair{mine: bytes.Repeat([]byte("content"), size/7+1)[:size]}
		p.theirs = bytes.Clone(p.mine)
		if size > 0 && rapid.Bool().Draw(t, "differs") {
			p.theirs[rapid.IntRange(0, size-1).Draw(t, "at")] ^= 1
		}
		tag := ""
		switch rapid.IntRange(0, 2).Draw(t, "tag") {
		case 1:
			sum := md5.Sum(p.mine)
			tag = hex.EncodeToString(sum[:])
		case 2:
			tag = "00112233445566778899aabbccddeeff" // of an encrypted object
		}
		want := sha256.Sum256(p.mine)
		got, err := p.compare(tag, size)
		switch equal := bytes.Equal(p.mine, p.theirs); {
		case err != nil:
			t.Fatal(err)
		case equal && !bytes.Equal(got, want[:]):
			t.Fatalf("got %x, want %x", got, want)
		case !equal && got != nil:
			t.Fatal("different contents count as equal")
		}
		if p.fromDestination > int64(size) || p.fromSource > int64(size)+blockSize || tag == "" && p.fromSource > int64(size) {
			t.Fatalf("read %d and %d bytes of %d", p.fromSource, p.fromDestination, size)
		}
	})
}

// TestCompareReadsLittle verifies how much the comparison of large contents reads.
func TestCompareReadsLittle(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 4<<20)
	sum := md5.Sum(large)
	other := bytes.Clone(large)
	other[10] = 'y'
	for _, tc := range []struct {
		name                        string
		theirs                      []byte
		md5                         string
		fromSource, fromDestination int64
	}{
		{"the first block differs", other, "", blockSize, blockSize},
		{"the first block differs, and there is a checksum", other, hex.EncodeToString(sum[:]), blockSize, blockSize},
		{"equal by checksum", large, hex.EncodeToString(sum[:]), blockSize, 4 << 20},
		{"equal", large, "", 4 << 20, 4 << 20},
	} {
		p := &contentPair{mine: large, theirs: tc.theirs}
		if _, err := p.compare(tc.md5, len(large)); err != nil || p.fromSource != tc.fromSource || p.fromDestination != tc.fromDestination {
			t.Errorf("%s: read %d and %d bytes, and %v, want %d and %d", tc.name, p.fromSource, p.fromDestination, err, tc.fromSource, tc.fromDestination)
		}
	}
}

// TestCompareErrors verifies which side an error names.
func TestCompareErrors(t *testing.T) {
	cut := errors.New("cut")
	for _, tag := range []string{"", "00112233445566778899aabbccddeeff"} {
		p := &contentPair{mine: []byte("abc"), theirs: []byte("abc"), mineErr: fs.ErrNotExist}
		if _, err := p.compare(tag, 3); !isObjectError(err) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: got %v, want the error of the object", tag, err)
		}
		p.mineErr, p.readErr = nil, cut
		if _, err := p.compare(tag, 3); isObjectError(err) || !errors.Is(err, cut) {
			t.Errorf("%q: got %v, want the error of the asset", tag, err)
		}
		p.readErr, p.theirs = nil, []byte("ab")
		_, err := p.compare(tag, 3)
		if length, ok := errors.AsType[*LengthError](err); !ok || length.Got != 2 || length.Want != 3 {
			t.Errorf("%q: got %v, want a wrong length", tag, err)
		}
	}
}

func isObjectError(err error) bool {
	_, ok := errors.AsType[*ObjectError](err)
	return ok
}
