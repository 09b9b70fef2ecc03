package sandboxcmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/sandbox/profile"
)

// sandboxLimits are the flags for the limits of a plan.
type sandboxLimits struct {
	file, storage, bandwidth byteSize
	megapixels               int
	plan                     string
}

func (l *sandboxLimits) addFlags(f *pflag.FlagSet) {
	f.Var(&l.file, "max-file-size", "refuse files larger than this `size`, such as 50M (default 5G)")
	f.IntVar(&l.megapixels, "max-megapixels", 0, "refuse images with more than `N` million pixels (default 50)")
	f.Var(&l.storage, "max-storage", "limit the stored bytes to this `size`, such as 10G (default no limit)")
	f.Var(&l.bandwidth, "max-bandwidth", "limit the downloaded bytes to this `size`, such as 10G (default no limit)")
	f.StringVar(&l.plan, "plan", "", "`name` of the plan (default ckbox.personal)")
}

func (l *sandboxLimits) limits() profile.Limits {
	return profile.Limits{
		MaxFileSizeInBytes: int64(l.file), MaxImageInMegapixels: l.megapixels, MaxStorageInBytes: int64(l.storage),
		MaxBandwidthInBytes: int64(l.bandwidth), PricingPlan: l.plan,
	}
}

// A byteSize is a flag for a number of bytes. The suffixes K, M, G and T are powers of 1024.
type byteSize int64

// Set parses a size.
func (b *byteSize) Set(text string) error {
	number, shift := text, 0
	if last := len(text) - 1; last > 0 {
		if i := strings.IndexByte("KkMmGgTt", text[last]); i >= 0 {
			number, shift = text[:last], 10*(i/2+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a size such as 500K, 50M or 10G", text)
	}
	*b = byteSize(n << shift)
	return nil
}

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type returns the name of the value for pflag.
func (*byteSize) Type() string { return "size" }
