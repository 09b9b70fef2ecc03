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

// A Stored is the content of a revision, with its time and user.
type Stored struct {
	Revision string
	Number   int // number of the revision
	Content  string
	Size     int64
	Checksum string
	Picture  Picture
	Made     time.Time
	By       string // "" if unknown
}
