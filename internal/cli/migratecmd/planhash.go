package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/pattern"
	"assetferry/internal/ui"
)

// People approve the hash, so apply gets it from them and never from the file: a file with a
// correct hash may be another plan. For the same reason no message has the hash of a file that
// was not approved.

var fullHash = pattern.Lazy(`^[0-9a-f]{64}$`)

// bindToHash refuses a plan without the approved hash. A dry run needs no hash.
func bindToHash(ctx context.Context, f *command.Factory, cmd *cobra.Command, p *approvedPlan, hash string, dryRun bool) error {
	given := cmd.Flags().Changed("hash")
	switch {
	case given && !fullHash().MatchString(strings.ToLower(hash)):
		return exit.Usage(fmt.Errorf("--hash: %q is not the hash of a plan", hash), "use all 64 hexadecimal digits that plan --output printed")
	case given:
		return p.bind(hash, "that of --hash")
	case dryRun, cmd.Flags().Changed(command.RequestFlag):
		return nil
	case f.Settings.Approval != "": // it has the hash, and is verified before the first upload
		p.bound = true
		return nil
	case !ui.IsTerminal(f.Stdin):
		return exit.Usage(errors.New("apply needs --hash: it carries out only the plan with that hash"),
			"use the approved hash:\n  "+f.Again("apply", []string{p.name}, "--hash", "HEX"))
	}
	showHeld(f, p)
	answer, err := f.AskLine(ctx, "Hash of the approved plan: ")
	if err != nil {
		return err
	}
	return p.bind(answer, "that hash")
}

func (p *approvedPlan) bind(hash, which string) error {
	if p.bound = strings.EqualFold(hash, p.Hash); p.bound {
		return nil
	}
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("%s is not the approved plan: its hash is not %s; nothing was uploaded", ui.Sanitize(p.name), which),
		"get the file and the hash of the approved plan from its approver")
}

// made returns the file of the plan, and when and by whom it was made.
func (p *approvedPlan) made() string {
	by := ""
	if p.Noted.PlannedBy != "" {
		by = ", planned by " + ui.Sanitize(p.Noted.PlannedBy)
	}
	return fmt.Sprintf("%s, made %s by run %s%s", ui.Sanitize(p.name), p.Noted.Made.Local().Format(time.DateTime), ui.Sanitize(p.Noted.Run), by)
}

// showHeld shows the contents of a plan before it asks for the hash.
func showHeld(f *command.Factory, p *approvedPlan) {
	f.Out.Notef("Plan         %s", p.made())
	f.Out.Notef("Source       %s", ui.Sanitize(p.Head.SourceLocation))
	f.Out.Notef("Destination  %s, %s", ui.Sanitize(p.Noted.URL), ui.Sanitize(p.Head.Destination))
	var actions []string
	for _, action := range slices.Sorted(maps.Keys(p.Actions)) {
		n := p.Actions[action]
		actions = append(actions, fmt.Sprintf("%s %s (%s)", action, ui.Count(n.Objects), ui.Bytes(n.Bytes)))
	}
	if len(actions) == 0 {
		actions = []string{"none"}
	}
	f.Out.Notef("Actions      %s", ui.Sanitize(strings.Join(actions, ", ")))
}
