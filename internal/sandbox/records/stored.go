package records

import (
	"time"

	"assetferry/internal/sandbox/store"
)

type RevisionView struct {
	ID        string  `json:"id"`
	CreatedAt string  `json:"createdAt"`
	CreatedBy *string `json:"createdBy"`
	IsCurrent bool    `json:"isCurrent"`
	Size      int64   `json:"size"`
}

func (st Stored) View(current bool) RevisionView {
	v := RevisionView{ID: st.Revision, CreatedAt: store.Timestamp(st.Made), IsCurrent: current, Size: st.Size}
	if st.By != "" {
		v.CreatedBy = &st.By
	}
	return v
}

// A Stored says what was stored, when and by whom: a revision of an asset.
type Stored struct {
	Revision string
	Number   int // among the revisions of the asset
	Content  string
	Size     int64
	Checksum string
	Picture  Picture
	Made     time.Time
	By       string // empty: not known
}
