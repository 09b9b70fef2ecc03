package sandbox

import (
	"fmt"
	"math"
	"net/http"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/store"
)

// The status of these errors is a guess; clients recognize them by their data.

// checkStorage refuses content beyond the storage limit of the environment.
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
		return problem.Refuse(http.StatusBadRequest, "The storage of the plan is full.").With("limit", limit)
	}
	return nil
}

// checkStored refuses to deliver files if the personal plan has more than its storage limit,
// for example after a change to a smaller plan.
func (s *Server) checkStored(environment string) error {
	l := s.options.Limits
	if l.MaxStorageInBytes < 0 || !l.IsPersonal() {
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

// usedStorage counts revisions, the trash, and every copy in full: a guess.
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
	// Flags like these exist; their names are guesses.
	ImageProcessing bool `json:"isImageProcessingEnabled"`
	SemanticSearch  bool `json:"isSemanticSearchEnabled"`
}

// getLimits returns null for missing limits: a guess.
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
