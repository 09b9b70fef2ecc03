package inventory

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

const (
	// blockSize is how many bytes of two contents are compared at a time: a difference in the first
	// block ends the comparison.
	blockSize = 64 << 10
	// largeContent is the size from which on the first blocks are compared before an asset is read
	// for the MD5 checksum that its object has: reading one block more takes less time than reading
	// all of another asset.
	largeContent = 16 * blockSize
)

// Contents are those of an object and of an asset of the same size.
type Contents struct {
	Source sources.Source
	Object sources.Object
	Dest   migrate.Reader
	Asset  state.Entry
	// MD5 is the checksum of the object in hexadecimal digits, if the source may know it; "" if it
	// does not.
	MD5 string
}

// An ObjectError means that the object could not be read.
type ObjectError struct{ Err error }

func (e *ObjectError) Error() string { return e.Err.Error() }

func (e *ObjectError) Unwrap() error { return e.Err }

// Compare returns the SHA-256 checksum of two contents that are identical, and nil if they differ. It reads no
// more than is necessary. It fails with an [ObjectError] if the object cannot be read, and with a
// [LengthError] if the asset does not have its size.
func (c Contents) Compare(ctx context.Context) (checksum []byte, err error) {
	if c.MD5 == "" {
		return c.compareBlocks(ctx)
	}
	return c.compareMD5(ctx)
}

// compareBlocks reads both contents side by side, up to the first block that differs.
func (c Contents) compareBlocks(ctx context.Context) (checksum []byte, err error) {
	object, err := c.Source.Open(ctx, c.Object, 0)
	if err != nil {
		return nil, &ObjectError{err}
	}
	defer object.Close()
	asset, _, err := c.Dest.Download(ctx, c.Asset.URL, 0)
	if err != nil {
		return nil, err
	}
	defer asset.Close()
	length := min(blockSize, c.Asset.Size+1) // small contents end within one block
	mine, theirs, h, read := make([]byte, length), make([]byte, length), sha256.New(), int64(0)
	for {
		n, objectEnd, err := readBlock(object, mine)
		if err != nil {
			return nil, &ObjectError{err}
		}
		m, assetEnd, err := readBlock(asset, theirs)
		if err != nil {
			return nil, err
		}
		if read += int64(m); assetEnd && read != c.Asset.Size {
			return nil, &LengthError{c.Asset.Asset, read, c.Asset.Size}
		}
		h.Write(mine[:n])
		switch {
		case !bytes.Equal(mine[:n], theirs[:m]):
			return nil, nil
		case objectEnd && assetEnd:
			return h.Sum(nil), nil
		}
	}
}

// compareMD5 reads the asset, and the object only if the MD5 checksum does not match: then it may be
// that of an encrypted content.
func (c Contents) compareMD5(ctx context.Context) (checksum []byte, err error) {
	asset, _, err := c.Dest.Download(ctx, c.Asset.URL, 0)
	if err != nil {
		return nil, err
	}
	defer asset.Close()
	var content io.Reader = asset
	if c.Asset.Size >= largeContent {
		begin := make([]byte, blockSize)
		n, _, err := readBlock(asset, begin)
		if err != nil {
			return nil, err
		}
		if same, err := c.beginsWith(ctx, begin[:n]); err != nil || !same {
			return nil, err
		}
		content = io.MultiReader(bytes.NewReader(begin[:n]), asset)
	}
	sum := md5.New()
	theirs, n, err := ChecksumOf(teeReader{io.TeeReader(content, sum), asset})
	switch {
	case err != nil:
		return nil, err
	case n != c.Asset.Size:
		return nil, &LengthError{c.Asset.Asset, n, c.Asset.Size}
	case hex.EncodeToString(sum.Sum(nil)) == c.MD5:
		return theirs, nil
	}
	mine, err := ChecksumOfObject(ctx, c.Source, c.Object)
	if err != nil {
		return nil, &ObjectError{err}
	}
	if !bytes.Equal(mine, theirs) {
		return nil, nil
	}
	return mine, nil
}

// beginsWith reports whether the object begins with a block.
func (c Contents) beginsWith(ctx context.Context, block []byte) (bool, error) {
	object, err := c.Source.Open(ctx, c.Object, 0)
	if err != nil {
		return false, &ObjectError{err}
	}
	defer object.Close()
	mine := make([]byte, len(block))
	n, _, err := readBlock(object, mine)
	if err != nil {
		return false, &ObjectError{err}
	}
	return bytes.Equal(mine[:n], block), nil
}

// readBlock fills a block, or reads what is left.
func readBlock(r io.Reader, block []byte) (n int, end bool, err error) {
	for n < len(block) {
		m, err := r.Read(block[n:])
		if n += m; err == io.EOF {
			return n, true, nil
		} else if err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}
