package rewrite

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

// newURLs keeps new URLs in memory, without the beginnings and endings that they share with others:
// of https://ckbox.cloud/env/assets/ID/file, it keeps the ID and the number of a frame.
type newURLs struct {
	frames  []frame
	numbers map[frame]int
	blocks  [][]byte // append never copies a full block
}

// A frame is the beginning and the ending of new URLs.
type frame struct{ begin, end string }

// maxFrames limits the memory for frames. Other new URLs are kept as they are, in the frame 0.
const maxFrames = 4096

const urlBlock = 1 << 20

var errTooManyURLs = errors.New("the redirect map has new URLs of more than 4 GB: split it")

func newNewURLs() *newURLs {
	return &newURLs{frames: []frame{{}}, numbers: map[frame]int{}}
}

// add adds a new URL, and returns where it is.
func (u *newURLs) add(url string) (at uint32, err error) {
	f, middle := framed(url)
	n, known := u.numbers[f]
	switch {
	case !known && len(u.frames) == maxFrames:
		n, middle = 0, url
	case !known:
		n = len(u.frames)
		f = frame{strings.Clone(f.begin), strings.Clone(f.end)}
		u.frames, u.numbers[f] = append(u.frames, f), n
	}
	size := 2*binary.MaxVarintLen64 + len(middle)
	last := len(u.blocks) - 1
	if last < 0 || cap(u.blocks[last])-len(u.blocks[last]) < size {
		u.blocks = append(u.blocks, make([]byte, 0, max(size, urlBlock)))
		last++
	}
	b := u.blocks[last]
	place := uint64(last)*urlBlock + uint64(len(b))
	if place > math.MaxUint32 {
		return 0, errTooManyURLs
	}
	u.blocks[last] = appendText(binary.AppendUvarint(b, uint64(n)<<1|isOne(clean(url) == url)), middle)
	return uint32(place), nil
}

func isOne(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// at returns the new URL at a place, and whether clean would not change it.
func (u *newURLs) at(place uint32) (url string, isClean bool) {
	b := u.blocks[place/urlBlock][place%urlBlock:]
	n, size := binary.Uvarint(b)
	middle, _, _ := cutText(b[size:])
	f := u.frames[n>>1]
	return f.begin + string(middle) + f.end, n&1 != 0
}

// framed splits a new URL into its frame and the rest. The beginning of an asset ends at its ID, that
// of another URL at its name.
func framed(url string) (f frame, middle string) {
	begin := strings.LastIndex(url, assetsFolder) + len(assetsFolder)
	if begin < len(assetsFolder) {
		begin = strings.LastIndexByte(url, '/') + 1
	}
	end := len(url)
	if n := strings.IndexByte(url[begin:], '/'); n >= 0 {
		end = begin + n
	}
	return frame{url[:begin], url[end:]}, url[begin:end]
}
