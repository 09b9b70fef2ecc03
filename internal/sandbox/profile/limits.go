package profile

import (
	"cmp"
	"math"
	"net/http"
	"strings"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
)

// IsPersonal reports whether uploads and downloads stop at the limits of the plan. With other
// plans only a flag changes.
func (l Limits) IsPersonal() bool { return strings.TrimPrefix(l.PricingPlan, "ckbox.") == "personal" }

// Limits are the limits of a plan. Zero means the default, a negative number no limit.
type Limits struct {
	// MaxFileSizeInBytes is the largest file; default 5 GiB, as in a published sample of the
	// vendor.
	MaxFileSizeInBytes int64
	// MaxImageInMegapixels is the largest image; default 50, from the same sample.
	MaxImageInMegapixels int
	// MaxStorageInBytes is for all assets of an environment, including trash and old revisions;
	// default none.
	MaxStorageInBytes int64
	// MaxBandwidthInBytes is for all downloads of an environment since the start of the
	// sandbox; default none.
	MaxBandwidthInBytes int64
	// PricingPlan is the name of the plan; default "ckbox.personal".
	PricingPlan string
}

func (l Limits) WithDefaults() Limits {
	l.MaxFileSizeInBytes = cmp.Or(l.MaxFileSizeInBytes, 5<<30)
	l.MaxImageInMegapixels = cmp.Or(l.MaxImageInMegapixels, 50)
	l.MaxStorageInBytes = cmp.Or(l.MaxStorageInBytes, -1)
	l.MaxBandwidthInBytes = cmp.Or(l.MaxBandwidthInBytes, -1)
	l.PricingPlan = cmp.Or(l.PricingPlan, "ckbox.personal")
	if l.MaxFileSizeInBytes < 0 {
		l.MaxFileSizeInBytes = math.MaxInt64 - 1
	}
	return l
}

func (l Limits) Exceeded(size int64) bool { return size > l.MaxFileSizeInBytes }

func (l Limits) TooLarge() *problem.Problem {
	return problem.Refuse(http.StatusRequestEntityTooLarge, "The file is larger than %d bytes.", l.MaxFileSizeInBytes).
		With("sizeLimit", l.MaxFileSizeInBytes)
}

func (l Limits) CheckPixels(p records.Picture) error {
	if l.MaxImageInMegapixels < 0 || p.Width*p.Height <= l.MaxImageInMegapixels*1_000_000 {
		return nil
	}
	return problem.Refuse(http.StatusBadRequest, "The image has more than %d megapixels.", l.MaxImageInMegapixels).
		With("megapixelsLimit", l.MaxImageInMegapixels)
}

// MaxPixels returns the size of the largest image that is decoded. Without a limit of the plan,
// memory limits it.
func (l Limits) MaxPixels() int {
	if l.MaxImageInMegapixels < 0 {
		return 250_000_000
	}
	return l.MaxImageInMegapixels * 1_000_000
}
