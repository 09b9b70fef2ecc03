package outcome

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/ownership"
)

// StatedApprover returns the approver of --approved-by, or zero without it.
func StatedApprover(cmd *cobra.Command, name string) (state.Approver, error) {
	name = strings.TrimSpace(name)
	switch {
	case !cmd.Flags().Changed("approved-by"):
		return state.Approver{}, nil
	case name == "":
		return state.Approver{}, exit.Usage(errors.New("--approved-by has no name"), "add a name, or omit the flag to record no approver")
	}
	return state.Approver{Name: name, StatedBy: ownership.OSAccount()}, nil
}

// NoteApprover records the approver of a run, if there is one.
func NoteApprover(ctx context.Context, f *command.Factory, store *state.Store, run state.Run, by state.Approver) (state.Run, error) {
	if by.Name == "" {
		return run, nil
	}
	noted, err := store.Approve(ctx, run.Num, by)
	if err != nil {
		return run, err
	}
	if !noted && run.Approver != by {
		f.Out.Notef("Run %s keeps its approver, %s.", run.ID, ui.Sanitize(run.Approver.Name))
	}
	return store.Run(ctx, run.ID)
}

// ApproverText returns the approver of a run with the source of that information, or "" if none is
// recorded.
func ApproverText(run state.Run) string {
	by := run.Approver
	if by.Name == "" {
		return ""
	}
	known := "stated by " + by.StatedBy
	if by.Key != "" {
		known = "signed with " + by.Key
	}
	return fmt.Sprintf("Approver %s, %s, %s", ui.Sanitize(by.Name), ui.Sanitize(known), run.ApprovedAt.Local().Format(time.DateTime))
}

// StartedText returns the account that started a run, or "" if the version did not record it.
func StartedText(run state.Run) string {
	if run.StartedBy == "" {
		return ""
	}
	return "Started by " + ui.Sanitize(run.StartedBy)
}
