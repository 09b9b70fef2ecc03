package cli

import (
	"context"

	"assetferry/internal/ui"
)

// mentionsApprovals reports whether a destination of the file requires approvals.
func (d *doctor) mentionsApprovals() bool {
	if d.settings == nil {
		return false
	}
	for _, n := range d.settings.Destinations {
		if n.RequireApproval {
			return true
		}
	}
	return false
}

// checkApprovals reads the file of approvers as a command does that needs an approval, and
// warns if this account may change the configuration that requires them.
func (d *doctor) checkApprovals(context.Context) finding {
	if d.dest == nil {
		return unchecked("there are no credentials")
	}
	need := d.requirement(d.dest, d.to.TokenCommand != "")
	if !need.Required {
		return ok("not required for this destination")
	}
	list, err := d.approvers(need.ApproversFile)
	if err != nil {
		return broken(err)
	}
	if err := d.outOfReach(d.settings.File); err != nil {
		return warning("have root own the file and the folders above it", "this account can change %s, and so turn off the approvals that it requires", ui.Sanitize(d.settings.File))
	}
	return ok("required for %s; %s may sign", need.Destination, count(int64(list.Len()), "key"))
}
