package rendition

import (
	"fmt"

	"github.com/bbrks/go-blurhash"
)

// BlurHash returns about thirty characters from which a page can paint a blurred preview.
func (p Picture) BlurHash() (string, error) {
	const side = 16 // more makes no visible difference
	hash, err := blurhash.Encode(4, 3, toNRGBA(onWhite(p.Fit(side, side))))
	if err != nil {
		return "", fmt.Errorf("make a blurhash: %w", err)
	}
	return hash, nil
}
