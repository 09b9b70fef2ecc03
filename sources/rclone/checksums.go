package rclone

import (
	"crypto/md5" // storages have MD5 hashes
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strings"
)

// sums are the hashes of storages that can be computed, by their names in rclone.
var sums = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New,
	"quickxor": func() hash.Hash { return &quickXor{} },
	"dropbox":  func() hash.Hash { return &dropboxHash{block: sha256.New()} },
}

// sum returns the hash of a version tag and its value in hexadecimal digits; nil if it is none that can
// be computed.
func (s *Source) sum(tag string) (sum hash.Hash, want string) {
	name, value, named := strings.Cut(tag, ":")
	if !named {
		name, value = s.abilities.hash, tag
	}
	start := sums[name]
	if start == nil {
		return nil, ""
	}
	if sum = start(); len(value) != hex.EncodedLen(sum.Size()) {
		return nil, ""
	}
	return sum, strings.ToLower(value)
}

// A quickXor is the hash of OneDrive and SharePoint: each byte is combined with 160 bits by XOR, each 11
// bits further on, and the length at their end.
type quickXor struct {
	state  [20]byte
	length uint64
}

const quickXorShift = 11

func (q *quickXor) Write(p []byte) (int, error) {
	bit := int(q.length % (8 * uint64(len(q.state))) * quickXorShift % (8 * uint64(len(q.state))))
	for _, b := range p {
		at, shift := bit/8, bit%8
		q.state[at] ^= b << shift
		q.state[(at+1)%len(q.state)] ^= byte(uint16(b) << shift >> 8)
		if bit += quickXorShift; bit >= 8*len(q.state) {
			bit -= 8 * len(q.state)
		}
	}
	q.length += uint64(len(p))
	return len(p), nil
}

func (q *quickXor) Sum(b []byte) []byte {
	sum := q.state
	end := sum[len(sum)-8:]
	binary.LittleEndian.PutUint64(end, binary.LittleEndian.Uint64(end)^q.length)
	return append(b, sum[:]...)
}

func (q *quickXor) Reset()         { *q = quickXor{} }
func (q *quickXor) Size() int      { return len(q.state) }
func (q *quickXor) BlockSize() int { return 1 }

// A dropboxHash is the SHA-256 of the SHA-256 of each block.
type dropboxHash struct {
	blocks []byte    // the hashes of complete blocks
	block  hash.Hash // of the current block
	filled int       // bytes in it
}

const dropboxBlock = 4 << 20

func (d *dropboxHash) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part := rest[:min(len(rest), dropboxBlock-d.filled)]
		rest = rest[len(part):]
		_, _ = d.block.Write(part) // it never fails
		if d.filled += len(part); d.filled == dropboxBlock {
			d.blocks = d.block.Sum(d.blocks)
			d.block.Reset()
			d.filled = 0
		}
	}
	return len(p), nil
}

func (d *dropboxHash) Sum(b []byte) []byte {
	blocks := d.blocks
	if d.filled > 0 {
		blocks = d.block.Sum(blocks[:len(blocks):len(blocks)])
	}
	sum := sha256.Sum256(blocks)
	return append(b, sum[:]...)
}

func (d *dropboxHash) Reset()         { *d = dropboxHash{block: sha256.New()} }
func (d *dropboxHash) Size() int      { return sha256.Size }
func (d *dropboxHash) BlockSize() int { return dropboxBlock }
