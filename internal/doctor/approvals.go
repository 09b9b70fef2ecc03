package doctor

import (
	"context"

	"assetferry/internal/ui"
)

// Approvals are what a destination requires.
type Approvals struct {
	Required    bool
	Destination string
	Keys        int  // that may sign
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

// checkApprovals reads the file of approvers as a command does that needs an approval, and
// warns if this account may change the configuration that requires them.
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
		return warning("have root own the file and the folders above it", "this account can change %s, and so turn off the approvals that it requires", ui.Sanitize(d.Settings.File))
	}
	return ok("required for %s; %s may sign", a.Destination, ui.Counted(int64(a.Keys), "key"))
}
