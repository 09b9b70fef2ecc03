package doctor

import (
	"context"

	"assetferry/internal/ui"
)

// Approvals describe the approvals that a destination requires.
type Approvals struct {
	Required    bool
	Destination string
	Keys        int  // number of keys that may sign
	Reachable   bool // this account may change the configuration that requires them
}

// mentionsApprovals reports whether a destination of the file requires approvals.
func (d *Doctor) mentionsApprovals() bool {
	if d.Settings == nil {
		return false
	}
	for _, n := range d.Settings.Destinations {
		if n.RequireApproval {
			return true
		}
	}
	return false
}

// checkApprovals reads the file of approvers as commands do. It warns if this account can change the
// configuration that requires approvals.
func (d *Doctor) checkApprovals(context.Context) Finding {
	if d.Destination == nil {
		return unchecked("there are no credentials")
	}
	a, err := d.Host.Approvals()
	switch {
	case err != nil:
		return d.broken(err)
	case !a.Required:
		return ok("not required for this destination")
	case a.Reachable:
		return warning("make root the owner of the file and the folders above it", "this account can change %s and so turn off the required approvals", ui.Sanitize(d.Settings.File))
	}
	return ok("required for %s; %s may sign", a.Destination, ui.Counted(int64(a.Keys), "key"))
}
