package certificate

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/mod/sumdb/tlog"

	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
	"assetferry/state/actionlog"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// record returns a record; keys ascend with n.
func record(n int) *Record {
	at := time.Unix(int64(n), 0).UTC()
	r := &Record{Size: int64(n), SHA256: fmt.Sprintf("%064x", n), Asset: fmt.Sprintf("asset-%d", n), URL: fmt.Sprintf("https://example.com/%d/<&>.jpg", n),
		Name: "photo.jpg", Category: "images", Modified: &at}
	r.SetKey(fmt.Sprintf("folder/%08d\xff.jpg", n), fmt.Sprintf(`"%d"`, n))
	return r
}

// list returns a list of n records, and its summary.
func list(tb testing.TB, n int) ([]byte, Assets) {
	tb.Helper()
	var b bytes.Buffer
	w := NewListWriter(&b)
	for i := range n {
		must(tb, w.Add(record(i)))
	}
	a, err := w.Close()
	must(tb, err)
	return b.Bytes(), a
}

func certificate(tb testing.TB, a Assets) []byte {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(tb, err)
	at := time.Unix(1e9, 0).UTC()
	file, err := Sign(tb.Context(), Certificate{
		Tool: "v1", CreatedAt: at, Verdict: Verdict{true, "verified", "Complete and verified", "3 assets."}, Source: "photos", Destination: "e/w",
		DestinationURL: "https://example.com", Assets: a, Results: []Count{{State: "created", Amount: Amount{3, 30}}}, Problems: []Count{},
		Skipped: []Count{{Reason: "hidden", Amount: Amount{1, 1}}}, Verification: Verification{Level: "content", At: &at, Verified: 3, ByChecksum: 3},
		URLs: &URLCheck{At: at, Checked: 3}, Undo: Undo{true, &at, "kept"}, Runs: []Run{{ID: "r", PlanHash: "h", StartedAt: at, Approver: "jo", Key: "SHA256:x",
			Counts: []Count{{Action: "create", State: "done", Reason: "new", Amount: Amount{3, 30}}}}}, Log: actionlog.Head{Entries: 3, Checksum: "abc"},
	}, key)
	must(tb, err)
	return file
}

// Sizes around those of chunks, and of complete trees.
func sizes() []int {
	return []int{0, 1, 2, 3, 5, 8, 1023, 1024, 1025, 2047, 2048, 2049, 3000, 4096, 5000}
}

// The root is that of an independent implementation of RFC 6962.
func TestRoot(t *testing.T) {
	for _, n := range sizes() {
		text, a := list(t, n)
		lines := bytes.SplitAfter(text, []byte("\n"))
		var stored []tlog.Hash
		read := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, _ error) {
			for _, i := range indexes {
				hashes = append(hashes, stored[i])
			}
			return hashes, nil
		})
		for i := range n {
			more, err := tlog.StoredHashes(int64(i), bytes.TrimSuffix(lines[i], []byte("\n")), read)
			must(t, err)
			stored = append(stored, more...)
		}
		want, err := tlog.TreeHash(int64(n), read)
		must(t, err)
		if a.Root != hex.EncodeToString(want[:]) || a.Objects != int64(n) {
			t.Errorf("%d records: %+v, want root %x", n, a, want)
		}
		seen := 0
		must(t, CheckList(bytes.NewReader(text), a, func(r Record) error {
			if diff := cmp.Diff(*record(seen), r); diff != "" {
				t.Error(diff)
			}
			seen++
			return nil
		}))
	}
}

// Test vectors: the roots of the empty tree and of one empty leaf, as RFC 6962 defines them.
func TestVectors(t *testing.T) {
	var b tree
	if root := b.root(); hex.EncodeToString(root[:]) != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("%x", root)
	}
	b.add(nil)
	if root := b.root(); hex.EncodeToString(root[:]) != "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" {
		t.Errorf("%x", root)
	}
}

// Every record has an inclusion, and no other key has one.
func TestInclusion(t *testing.T) {
	for _, n := range sizes() {
		text, a := list(t, n)
		r := bytes.NewReader(text)
		for i := 0; i < n; i += 1 + n/50 {
			found, err := Include(r, int64(len(text)), a, record(i).FullKey())
			must(t, err)
			file, err := found.Encode()
			must(t, err)
			again, err := ParseInclusion(file)
			must(t, err)
			got, err := again.Check(a)
			if diff := cmp.Diff(*record(i), got); diff != "" || err != nil {
				t.Errorf("%d of %d: %v, %s", i, n, err, diff)
			}
		}
		for _, key := range []string{"", "folder/", "folder/00000000", "folder/00000001\xff.jpgx", "z"} {
			if _, err := Include(r, int64(len(text)), a, key); !errors.Is(err, ErrNotListed) {
				t.Errorf("%q in %d records: %v", key, n, err)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	w := NewListWriter(&bytes.Buffer{})
	must(t, w.Add(record(2)))
	for _, n := range []int{2, 1} {
		if err := w.Add(record(n)); !errors.Is(err, errOrder) {
			t.Errorf("%d after 2: %v", n, err)
		}
	}
}

// mutate changes a file at random: a byte, a line that is removed, repeated or moved, or the end.
func mutate(random *mathrand.Rand, file []byte) []byte {
	lines := bytes.SplitAfter(bytes.Clone(file), []byte("\n"))
	lines = lines[:len(lines)-1] // after the last line feed
	at, to := random.IntN(len(lines)), random.IntN(len(lines))
	switch random.IntN(6) {
	case 0:
		lines = slices.Delete(lines, at, at+1)
	case 1:
		lines = slices.Insert(lines, at, lines[to])
	case 2:
		lines[at], lines[to] = lines[to], lines[at]
	case 3:
		changed := bytes.Clone(file)
		return changed[:random.IntN(len(changed))]
	case 4:
		changed := bytes.Clone(file)
		n := random.IntN(len(changed))
		return slices.Insert(changed, n, byte(random.IntN(256)))
	default:
		changed := bytes.Clone(file)
		changed[random.IntN(len(changed))] ^= 1 << random.IntN(8)
		return changed
	}
	return bytes.Join(lines, nil)
}

// The test changes certificates, lists and inclusions at random. Each change must be found.
func TestChangesAreFound(t *testing.T) {
	random := mathrand.New(mathrand.NewPCG(seedtest.Seed(t), 1))
	assets, a := list(t, 40)
	included, err := Include(bytes.NewReader(assets), int64(len(assets)), a, record(17).FullKey())
	must(t, err)
	inclusion, err := included.Encode()
	must(t, err)
	for name, file := range map[string]struct {
		text  []byte
		check func([]byte) error
	}{
		"certificate": {certificate(t, a), func(text []byte) error { _, err := Open(t.Context(), text); return err }},
		"list":        {assets, func(text []byte) error { return CheckList(bytes.NewReader(text), a, func(Record) error { return nil }) }},
		"inclusion": {inclusion, func(text []byte) error {
			i, err := ParseInclusion(text)
			if err == nil {
				_, err = i.Check(a)
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, file.check(file.text))
			for range longtest.Size(1500, 10000) {
				changed := mutate(random, file.text)
				if bytes.Equal(changed, file.text) {
					continue
				}
				if err := file.check(changed); !errors.Is(err, ErrChanged) {
					t.Fatalf("%v: not found: %q", err, changed)
				}
			}
		})
	}
}

// A changed list never leads to a wrong inclusion.
func TestIncludeFromChangedList(t *testing.T) {
	random := mathrand.New(mathrand.NewPCG(seedtest.Seed(t), 2))
	assets, a := list(t, 1500)
	for range longtest.Size(300, 3000) {
		changed := mutate(random, assets)
		i, err := Include(bytes.NewReader(changed), int64(len(changed)), a, record(1100).FullKey())
		if err != nil {
			continue
		}
		if r, err := i.Check(a); err != nil || r.FullKey() != record(1100).FullKey() {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	_, want, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	plain, err := ssh.MarshalPrivateKey(want, "")
	must(t, err)
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(want, "", []byte("open"))
	must(t, err)
	if got, err := ParseKey(pem.EncodeToMemory(plain), nil); err != nil || !got.Equal(want) {
		t.Error(err)
	}
	if _, err := ParseKey(pem.EncodeToMemory(locked), nil); !errors.Is(err, ErrPassphrase) {
		t.Error(err)
	}
	if got, err := ParseKey(pem.EncodeToMemory(locked), []byte("open")); err != nil || !got.Equal(want) {
		t.Error(err)
	}
	if _, err := ParseKey(pem.EncodeToMemory(locked), []byte("wrong")); err == nil {
		t.Error("a wrong passphrase opens the key")
	}
}

// Arbitrary files are refused without a panic.
func FuzzOpen(f *testing.F) {
	_, a := list(f, 3)
	f.Add(certificate(f, a))
	f.Add([]byte(`{"payloadType":"","payload":"","signatures":[]}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Open(t.Context(), file)
		if err == nil && c.Signer.Fingerprint == "" {
			t.Error("no signer")
		}
	})
}

func FuzzParseInclusion(f *testing.F) {
	text, a := list(f, 3)
	i, err := Include(bytes.NewReader(text), int64(len(text)), a, record(1).FullKey())
	must(f, err)
	file, err := i.Encode()
	must(f, err)
	f.Add(file)
	f.Fuzz(func(t *testing.T, file []byte) {
		i, err := ParseInclusion(file)
		if err != nil {
			return
		}
		if again, err := i.Encode(); err != nil || !bytes.Equal(again, file) {
			t.Errorf("%v: %q", err, again)
		}
	})
}

// A list that is changed in any way is refused without a panic.
func FuzzCheckList(f *testing.F) {
	text, a := list(f, 3)
	f.Add(text)
	f.Fuzz(func(t *testing.T, changed []byte) {
		err := CheckList(bytes.NewReader(changed), a, func(Record) error { return nil })
		if (err == nil) != bytes.Equal(changed, text) {
			t.Errorf("%v", err)
		}
		i, err := Include(bytes.NewReader(changed), int64(len(changed)), a, record(1).FullKey())
		if err == nil {
			_, err = i.Check(a)
			must(t, err)
		}
	})
}

// BenchmarkList writes the list of a million assets.
func BenchmarkList(b *testing.B) {
	for b.Loop() {
		w := NewListWriter(&bytes.Buffer{})
		r := record(0)
		for n := range 1_000_000 {
			r.SetKey(fmt.Sprintf("folder/%08d.jpg", n), "")
			must(b, w.Add(r))
		}
		_, err := w.Close()
		must(b, err)
	}
}

// BenchmarkInclude finds one of a million assets.
func BenchmarkInclude(b *testing.B) {
	var buffer bytes.Buffer
	w := NewListWriter(&buffer)
	for n := range 1_000_000 {
		must(b, w.Add(record(n)))
	}
	a, err := w.Close()
	must(b, err)
	text := bytes.NewReader(buffer.Bytes())
	for b.Loop() {
		_, err := Include(text, int64(buffer.Len()), a, record(765_432).FullKey())
		must(b, err)
	}
}
