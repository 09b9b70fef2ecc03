package rendition

import (
	"fmt"

	"github.com/bbrks/go-blurhash"
)

// BlurHash describes a picture in about thirty characters, from which a page can
// paint a blurred one while the real one loads.
func (p Picture) BlurHash() (string, error) {
	const side = 16 // more makes no difference that can be seen, and takes its time
	hash, err := blurhash.Encode(4, 3, toNRGBA(onWhite(p.Fit(side, side))))
	if err != nil {
		return "", fmt.Errorf("make a blurhash: %w", err)
	}
	return hash, nil
}
