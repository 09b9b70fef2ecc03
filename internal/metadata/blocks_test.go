package metadata

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata/imagetest"
)

// An opened counts how often it is opened, and how many readers are still open.
type opened struct {
	content []byte
	left    int
	fails   error
}

func (o *opened) open(at int64) (io.ReadCloser, error) {
	if o.fails != nil {
		return nil, o.fails
	}
	o.left++
	return &closer{iotest.HalfReader(bytes.NewReader(o.content[at:])), o}, nil
}

type closer struct {
	io.Reader
	of *opened
}

func (c *closer) Close() error { c.of.left--; return nil }

func TestBlocksReadAsAFile(t *testing.T) {
	content := make([]byte, 5*blockSize+100)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range content {
		content[n] = byte(rng.Uint32())
	}
	o := &opened{content: content}
	b := NewBlocks(o.open, int64(len(content)))
	if err := iotest.TestReader(io.NewSectionReader(b, 0, int64(len(content))), content); err != nil {
		t.Error(err)
	}
	for range 1000 {
		at := rng.Int64N(int64(len(content)) + 10)
		got, want := make([]byte, rng.IntN(3*blockSize)), make([]byte, 0)
		n, err := b.ReadAt(got, at)
		if at < int64(len(content)) {
			want = content[at:min(at+int64(len(got)), int64(len(content)))]
		}
		if !bytes.Equal(got[:n], want) || (err != nil) != (n < len(got) || at >= int64(len(content))) {
			t.Fatalf("%d bytes at %d: %d of them, %v", len(got), at, n, err)
		}
	}
	if b.requests > 6 || o.left != 0 {
		t.Errorf("%d requests for 6 blocks, %d left open", b.requests, o.left)
	}
}

func TestBlocksAskForMuchAtOnce(t *testing.T) {
	o := &opened{content: make([]byte, 100*blockSize)}
	b := NewBlocks(o.open, int64(len(o.content)))
	if n, err := b.ReadAt(make([]byte, 50*blockSize), 100); n != 50*blockSize || err != nil || b.requests != 1 {
		t.Errorf("%d bytes with %d requests, %v", n, b.requests, err)
	}
}

func TestBlocksKeepBounds(t *testing.T) {
	o := &opened{content: make([]byte, 1000*blockSize)}
	b := NewBlocks(o.open, int64(len(o.content)))
	var err error
	for n := int64(0); err == nil; n += 5 {
		_, err = b.ReadAt(make([]byte, 1), n*blockSize)
	}
	if !errors.Is(err, errScattered) || b.requests != maxRequests || len(b.kept) > maxBlocks {
		t.Errorf("%v after %d requests with %d blocks", err, b.requests, len(b.kept))
	}
	if _, err := NewBlocks(o.open, int64(len(o.content))).ReadAt(make([]byte, 500*blockSize), 0); !errors.Is(err, errScattered) {
		t.Errorf("for 500 blocks at once: %v", err)
	}
}

func TestBlocksReportFailures(t *testing.T) {
	failure := errors.New("the network fails")
	b := NewBlocks((&opened{fails: failure}).open, 100)
	if _, err := b.ReadAt(make([]byte, 1), 0); !errors.Is(err, failure) {
		t.Error(err)
	}
	o := &opened{content: make([]byte, 50)}
	if _, err := NewBlocks(o.open, 100).ReadAt(make([]byte, 60), 0); !errors.Is(err, io.ErrUnexpectedEOF) || o.left != 0 {
		t.Error(err)
	}
}

// TestEmbeddedTakesFewRequests verifies that reading embedded metadata takes at most one more
// request, and that reading stops with a remark if the metadata is scattered.
func TestEmbeddedTakesFewRequests(t *testing.T) {
	for _, test := range embeddedCases() {
		o := &opened{content: test.content}
		b := NewBlocks(o.open, int64(len(test.content)))
		found, _, err := Embedded(b, int64(len(test.content)))
		if diff := cmp.Diff(test.want, found); err != nil || diff != "" || b.requests > 1 {
			t.Errorf("%s: %d requests, %v\n%s", test.name, b.requests, err, diff)
		}
	}
	var chunks [][]byte
	for range 40 {
		chunks = append(chunks, imagetest.Chunk("IDAT", strings.Repeat("x", 2*blockSize)))
	}
	scattered := imagetest.PNG(append(chunks, imagetest.Chunk("eXIf", "II*\x00"))...)
	b := NewBlocks((&opened{content: scattered}).open, int64(len(scattered)))
	_, remarks, err := Embedded(b, int64(len(scattered)))
	if err != nil || len(remarks) != 1 || !strings.Contains(remarks[0], errScattered.Error()) {
		t.Errorf("a picture in many parts: %v, remarks %q", err, remarks)
	}
}
