package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/approval"
	"assetferry/internal/approvers"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/ownership"
)

// A destination with require_approval is written to only with the signature of an approver.
// That is decided here, once, for every client that can write: a command that says nothing
// of approvals gets none. Nothing was asked of the service by then.
//
// What this protects against are mistakes and haste of the account that runs assetferry, and
// other people at its configuration as far as they cannot write it. It does not hold back an
// account that means harm: that has the access key and may do anything without assetferry.

// A subject is what a command is about to do, as a request for approval names it.
type subject struct {
	acts         []string                                             // flags without which the command only shows what it would do
	none         string                                               // why it cannot be approved; empty: it can
	sendsNothing bool                                                 // so it needs no approval, and no client that can write
	prepare      func(context.Context, *destination) error            // finds out what depends on the destination; may be nil
	fill         func(*approval.Request) error                        // says in a request what is to be done
	covers       func(approval.Request) (differs []string, err error) // how an approval is for something else; none if it is not
}

// approvalFlags are what commands take that can be approved.
type approvalFlags struct {
	request string
	expires string
}

const requestFlag, expiresFlag = "approval-request", "approval-expires"

// defaultExpiry is how long an approval is valid if nothing else is said, and mostExpiry the
// longest that can be.
const (
	defaultExpiry = "30d"
	mostExpiry    = 366 * 24 * time.Hour
)

func addApprovalFlags(f *pflag.FlagSet) {
	setting(f, "approval", "`file` of an approval request that an approver signed, with the signature beside it in FILE.sig")
	f.String(requestFlag, "", "write what an approver has to sign into this `file`, and do nothing else")
	f.String(expiresFlag, defaultExpiry, "with --"+requestFlag+": the `duration` until the approval expires")
}

// approvalFlags reads them; zero where a command has none.
func (a *app) approvalFlags() (o approvalFlags) {
	if f := a.called.Flags(); f.Lookup(requestFlag) != nil {
		o.request, _ = f.GetString(requestFlag)
		o.expires, _ = f.GetString(expiresFlag)
	}
	return o
}

// onlyRequests reports whether a command only writes a request, and so asks no question.
func (a *app) onlyRequests() bool { return a.called.Flags().Changed(requestFlag) }

// requirement is what it takes to write to a destination.
func (a *app) requirement(dest *destination, tokenCommand bool) config.Requirement {
	return a.settings.Requirement(config.Reached{
		Name: dest.name, URL: dest.url, Environment: dest.environment, Workspace: dest.workspace, TokenCommand: tokenCommand,
	})
}

// permit finds out whether a command may write to a destination, and gives the approver if
// one had to be asked, or was. With --approval-request it writes the request, and ends the
// command. A dry run is always permitted, but an approval that is given is verified.
func (a *app) permit(ctx context.Context, dest *destination, need config.Requirement, readOnly bool, s subject) (state.Approver, error) {
	if s.prepare != nil && (need.Required || a.onlyRequests()) {
		if err := s.prepare(ctx, dest); err != nil {
			return state.Approver{}, err
		}
	}
	o, flags := a.approvalFlags(), a.called.Flags()
	switch given := takes(a.called, "approval") && a.settings.Approval != ""; {
	case flags.Changed(requestFlag):
		return state.Approver{}, a.requestApproval(dest, need, s, o)
	case flags.Changed(expiresFlag):
		return state.Approver{}, usage(fmt.Errorf("--%s is for --%s", expiresFlag, requestFlag), "")
	case readOnly && !flags.Changed("approval"), !need.Required && !given:
		return state.Approver{}, nil
	case s.none != "":
		return state.Approver{}, a.refuse(need, "%s", s.none)
	case !given:
		return state.Approver{}, a.refuse(need, "%s needs --approval FILE, signed by an approver", strings.TrimPrefix(a.command, "assetferry "))
	case need.ApproversFile == "":
		return state.Approver{}, usage(errors.New("--approval: the destination has no approvers_file to verify it by"), "name the file in assetferry.yaml, or leave --approval out")
	}
	return a.verifyApproval(dest, need, s)
}

// refuse says why a command must not write, and how it can be approved.
func (a *app) refuse(need config.Requirement, format string, args ...any) error {
	hint := "assetferry help security says how approvals work"
	if a.called.Flags().Lookup(requestFlag) != nil {
		hint = a.sameCommand("--"+requestFlag, "request.json")
	}
	if a.called.Name() == "migrate" { // whose plan can be approved
		hint = a.again("plan", a.called.Flags().Args(), "--output", "plan.jsonl")
	}
	return with(exitGuard, fmt.Errorf("destination %s requires an approval: %w; nothing was sent", need.Destination, fmt.Errorf(format, args...)), hint)
}

// sameCommand is the command that was called, without what is about approvals and answers.
func (a *app) sameCommand(more ...string) string {
	var flags []string
	a.called.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "approval", requestFlag, expiresFlag, "apply", "yes", "dry-run", "json", "quiet", "verbose", "progress", "log-file", "metrics", "notify", "notify-file":
			return
		}
		flags = append(flags, flagWords(f)...)
	})
	return commandLine(strings.TrimPrefix(a.command, "assetferry "), append(flags, more...), a.called.Flags().Args()...)
}

// verifyApproval makes sure that an approver signed what a command is about to do.
func (a *app) verifyApproval(dest *destination, need config.Requirement, s subject) (by state.Approver, err error) {
	refuse := func(format string, args ...any) (state.Approver, error) {
		return state.Approver{}, a.refuse(need, format, args...)
	}
	list, err := a.approvers(need.ApproversFile)
	if err != nil {
		return by, err
	}
	name := a.settings.Approval
	text, err := readSmall(name)
	if err != nil {
		return refuse("the approval cannot be read: %w", err)
	}
	signature, err := readSmall(name + ".sig")
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("%s is not signed: there is no %s.sig", ui.Sanitize(name), ui.Sanitize(name))
	} else if err != nil {
		return refuse("the signature cannot be read: %w", err)
	}
	now := clock.Now()
	signer, err := list.Verify(text, signature, now)
	if err != nil {
		return refuse("the signature in %s.sig is refused: %w", ui.Sanitize(name), err)
	}
	request, err := approval.ParseRequest(text)
	if err != nil {
		return refuse("%s: %w", ui.Sanitize(name), err)
	}
	if !now.Before(request.ExpiresAt) {
		return refuse("the approval in %s expired on %s", ui.Sanitize(name), request.ExpiresAt.Local().Format(time.DateTime))
	}
	if request.ExpiresAt.Sub(request.RequestedAt) > mostExpiry {
		return refuse("the approval in %s is valid for more than 366 days", ui.Sanitize(name))
	}
	if request.Destination != dest.identity() {
		return refuse("the approval in %s is for another destination, %s", ui.Sanitize(name), ui.Sanitize(request.Destination))
	}
	differs, err := s.covers(request)
	if err != nil {
		return by, err
	}
	if len(differs) > 0 {
		return refuse("the approval in %s is for something else: %s", ui.Sanitize(name), ui.Sanitize(strings.Join(differs, "; ")))
	}
	if why := ownApproval(signer, request); why != "" {
		return refuse("%s", ui.Sanitize(why))
	}
	a.out.Notef("Approver     %s, signed with %s", ui.Sanitize(signer.Names[0]), signer.Fingerprint)
	return state.Approver{Name: signer.Names[0], Key: signer.Fingerprint}, nil
}

// ownApproval is how a signer is no second person; empty if the signer is one. Besides the
// account that planned, that is the one that asked, and the one that runs the command: it
// could have written another planner into the request.
func ownApproval(signer approvers.Signer, r approval.Request) string {
	for _, account := range []struct{ did, name string }{
		{"planned this", r.PlannedBy}, {"asked for the approval", r.RequestedBy}, {"runs this", ownership.OSAccount()},
	} {
		if strings.HasPrefix(account.name, "uid ") {
			return fmt.Sprintf("the account that %s, %s, has no name to compare with the approver's: add it to /etc/passwd", account.did, account.name)
		}
		for _, name := range signer.Names {
			if approval.SameName(name, account.name) {
				return fmt.Sprintf("the approver %s is the account that %s, %s", name, account.did, account.name)
			}
		}
	}
	return ""
}

// approvers reads who may approve, from a file that this account cannot change.
func (a *app) approvers(name string) (*approvers.List, error) {
	if err := a.outOfReach(name); err != nil {
		return nil, with(exitGuard, err, orHint(hintOf(err), "check approvers_file in assetferry.yaml"))
	}
	text, err := readSmall(name)
	if err != nil {
		return nil, with(exitGuard, fmt.Errorf("approvers_file: %w", err), "check approvers_file in assetferry.yaml")
	}
	list, err := approvers.Parse(name, text)
	if err != nil {
		return nil, with(exitGuard, fmt.Errorf("approvers_file: %w", err), "each line needs a name, the type of a key and the key, as ssh-keygen(1) says under ALLOWED SIGNERS")
	}
	return list, nil
}

// readSmall reads a file that has no more than a request may have.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, approval.MaxRequest+1))
	if err == nil && len(text) > approval.MaxRequest {
		err = fmt.Errorf("%s has more than %d bytes", name, approval.MaxRequest)
	}
	return text, err
}

// requestApproval writes what an approver has to sign, and ends the command.
func (a *app) requestApproval(dest *destination, need config.Requirement, s subject, o approvalFlags) error {
	life, err := config.ParseDuration(o.expires)
	switch {
	case s.none != "":
		return a.refuse(need, "%s", s.none)
	case err != nil || life <= 0 || life > mostExpiry:
		return usage(fmt.Errorf("--%s: %q is not a duration of at most 366 days", expiresFlag, o.expires), "such as 7d or 12h")
	}
	now, account := clock.Now(), ownership.OSAccount()
	r := approval.Request{
		Destination: dest.identity(), DestinationURL: dest.url, PlannedBy: account, RequestedBy: account,
		RequestedAt: now, ExpiresAt: now.Add(life),
	}
	if err := s.fill(&r); err != nil {
		return err
	}
	text, err := r.Encode()
	if err != nil {
		return err
	}
	if _, err := approval.ParseRequest(text); err != nil {
		return fmt.Errorf("write approval request: %w", err)
	}
	if err := mayReplaceWith(o.request, requestFlag, "approval request", approval.IsRequest); err != nil {
		return err
	}
	if err := writeNew(o.request, true, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return fmt.Errorf("write approval request: %w", err)
	}
	name := ui.Sanitize(shellWord(o.request))
	a.out.Printf("The approval request is in %s. It expires on %s. Nothing was sent.", ui.Sanitize(o.request), r.ExpiresAt.Local().Format(time.DateTime))
	a.out.Printf("An approver reads and signs it, which writes %s.sig:\n    ssh-keygen -Y sign -n %s -f ~/.ssh/id_ed25519 %s", ui.Sanitize(o.request), approvers.Namespace, name)
	a.out.Printf("Next: %s", a.sameCommand(append(s.acts, "--approval", o.request)...))
	return said(exitDone)
}

// commandSubject is a command that is approved with its arguments.
func (a *app) commandSubject() subject {
	if a.called.Flags().Lookup(requestFlag) == nil {
		return subject{none: fmt.Sprintf("%s cannot be approved", strings.TrimPrefix(a.command, "assetferry "))}
	}
	words := strings.Fields(strings.TrimPrefix(a.command, "assetferry "))
	a.called.LocalFlags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "approval", requestFlag, expiresFlag, "yes", "dry-run":
			return
		}
		if !isGlobal(a.called, f) {
			words = append(words, flagWords(f)...)
		}
	})
	words = append(append(words, "--"), a.called.Flags().Args()...) // so that no argument is taken for a flag
	return subject{
		fill: func(r *approval.Request) error {
			r.Kind, r.Command = approval.KindCommand, approval.Words(words)
			return nil
		},
		covers: func(r approval.Request) ([]string, error) {
			switch {
			case r.Kind != approval.KindCommand:
				return []string{"a " + r.Kind}, nil
			case !sameWords(r.Command, approval.Words(words)):
				return []string{"another command, or other arguments"}, nil
			}
			return nil, nil
		},
	}
}

func isGlobal(c *cobra.Command, f *pflag.Flag) bool {
	return c.InheritedFlags().Lookup(f.Name) != nil
}

func sameWords(one, other []approval.Text) bool {
	if len(one) != len(other) {
		return false
	}
	for n, w := range one {
		if w != other[n] {
			return false
		}
	}
	return true
}
