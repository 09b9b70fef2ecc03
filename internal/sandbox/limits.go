package sandbox

import (
	"cmp"
	"fmt"
	"math"
	"net/http"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// Limits are those of a plan. Zero means the default, a negative number no limit.
type Limits struct {
	// MaxFileSizeInBytes is the largest file; default 5 GiB, which is what a
	// sample published by the vendor shows.
	MaxFileSizeInBytes int64
	// MaxImageInMegapixels is the largest image; default 50, from the same sample.
	MaxImageInMegapixels int
	// MaxStorageInBytes is for all assets of an environment, trash and old
	// revisions included; default none.
	MaxStorageInBytes int64
	// MaxBandwidthInBytes is for all files that an environment hands out, from the
	// start of the sandbox on; default none.
	MaxBandwidthInBytes int64
	// PricingPlan is the name of the plan; default "ckbox.personal".
	PricingPlan string
}

func (l Limits) withDefaults() Limits {
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

func (l Limits) exceeded(size int64) bool { return size > l.MaxFileSizeInBytes }

// The status of these refusals is a guess; clients know them by their data.

func (l Limits) tooLarge() *problem.Problem {
	return problem.Refuse(http.StatusRequestEntityTooLarge, "The file is larger than %d bytes.", l.MaxFileSizeInBytes).
		With("sizeLimit", l.MaxFileSizeInBytes)
}

func (l Limits) checkPixels(p records.Picture) error {
	if l.MaxImageInMegapixels < 0 || p.Width*p.Height <= l.MaxImageInMegapixels*1_000_000 {
		return nil
	}
	return problem.Refuse(http.StatusBadRequest, "The image has more than %d megapixels.", l.MaxImageInMegapixels).
		With("megapixelsLimit", l.MaxImageInMegapixels)
}

// maxPixels is the size of the largest image that is decoded: without a limit of
// the plan still one that the memory holds.
func (l Limits) maxPixels() int {
	if l.MaxImageInMegapixels < 0 {
		return 250_000_000
	}
	return l.MaxImageInMegapixels * 1_000_000
}

// checkStorage refuses what does not fit into the environment of a workspace any more.
func (s *Server) checkStorage(ses *store.Session, workspace string, size int64) error {
	limit := s.options.Limits.MaxStorageInBytes
	if limit < 0 {
		return nil
	}
	w, _ := s.workspaces.Get(workspace)
	used, err := usedStorage(ses, w.Environment)
	if err != nil {
		return err
	}
	if used+size > limit {
		return problem.Refuse(http.StatusBadRequest, "The storage of the plan is used up.").With("limit", limit)
	}
	return nil
}

// checkStored refuses to hand out files where the personal plan holds more than
// it may, as it does after a change to a smaller one.
func (s *Server) checkStored(environment string) error {
	l := s.options.Limits
	if l.MaxStorageInBytes < 0 || !l.isPersonal() {
		return nil
	}
	var used int64
	err := s.store.Read(func(ses *store.Session) (err error) {
		used, err = usedStorage(ses, environment)
		return err
	})
	if err != nil {
		return fmt.Errorf("add up storage: %w", err)
	}
	if used > l.MaxStorageInBytes {
		return problem.Refuse(http.StatusPaymentRequired, "The storage of the plan is exceeded.").With("limit", l.MaxStorageInBytes)
	}
	return nil
}

// usedStorage counts revisions and the trash, and every copy in full: a guess.
func usedStorage(ses *store.Session, environment string) (used int64, err error) {
	err = ses.Row("SELECT coalesce(sum(bytes), 0) FROM storage JOIN workspaces w ON w.id = workspace_id WHERE w.environment = ?",
		[]any{environment}, &used)
	return used, err
}

type limitsView struct {
	MaxFileSize          *int64 `json:"maxFileSizeInBytesLimit"`
	MaxImageInMegapixels *int   `json:"maxImageInMegapixelsLimit"`
	PricingPlanName      string `json:"pricingPlanName"`
	BandwidthExceeded    bool   `json:"isMaxBandwidthExceeded"`
	StorageExceeded      bool   `json:"isMaxStorageSizeExceeded"`
	// That there are flags like these is known; their names are guesses.
	ImageProcessing bool `json:"isImageProcessingEnabled"`
	SemanticSearch  bool `json:"isSemanticSearchEnabled"`
}

// getLimits shows null where there is no limit: a guess.
func (s *Server) getLimits(c *call) error {
	l := s.options.Limits
	out := limitsView{PricingPlanName: l.PricingPlan, ImageProcessing: true}
	out.BandwidthExceeded = s.bandwidthExceeded(c.who.Environment)
	if l.MaxFileSizeInBytes < math.MaxInt64-1 {
		out.MaxFileSize = &l.MaxFileSizeInBytes
	}
	if l.MaxImageInMegapixels > 0 {
		out.MaxImageInMegapixels = &l.MaxImageInMegapixels
	}
	if l.MaxStorageInBytes >= 0 {
		var used int64
		err := s.store.Read(func(ses *store.Session) (err error) {
			used, err = usedStorage(ses, c.who.Environment)
			return err
		})
		if err != nil {
			return fmt.Errorf("add up storage: %w", err)
		}
		out.StorageExceeded = used >= l.MaxStorageInBytes
	}
	return c.Reply(http.StatusOK, out)
}
