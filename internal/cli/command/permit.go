package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"assetferry/internal/approval"
	"assetferry/internal/approvers"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/shell"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/ownership"
)

// A destination with require_approval accepts changes only with the signature of an approver. This
// file checks it before any request, for every client that can write. A command without a Subject
// gets no such client.
//
// This protects against mistakes of the account that runs assetferry. It does not stop a malicious
// account, which has the access key and needs no assetferry.

// A Subject is the action of a command, as a request for approval names it.
type Subject struct {
	Acts         []string                                             // flags without which the command only shows its plan
	None         string                                               // why it cannot be approved; empty if it can
	SendsNothing bool                                                 // it needs no approval and no client that can write
	Prepare      func(context.Context, *Destination) error            // reads the parts that depend on the destination; may be nil
	Fill         func(*approval.Request) error                        // adds the action to a request
	Covers       func(approval.Request) (differs []string, err error) // differences from the action of an approval
}

// approvalFlags are the flags of commands that need approval.
type approvalFlags struct {
	request string
	expires string
}

// RequestFlag is the flag that writes a request for approval.
const RequestFlag, expiresFlag = "approval-request", "approval-expires"

// defaultExpiry is how long an approval is valid by default, and mostExpiry is the maximum.
const (
	defaultExpiry = "30d"
	mostExpiry    = 366 * 24 * time.Hour
)

// AddApprovalFlags adds the flags of commands that need approval.
func AddApprovalFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "approval", "approval request `file` signed by an approver; the signature is in FILE.sig")
	f.String(RequestFlag, "", "write only the approval request, to this `file`, for an approver to sign")
	f.String(expiresFlag, defaultExpiry, "`duration` until a requested approval expires")
}

// approvalFlags reads them; zero where a command has none.
func (f *Factory) approvalFlags() (o approvalFlags) {
	if flags := f.Called.Flags(); flags.Lookup(RequestFlag) != nil {
		o.request, _ = flags.GetString(RequestFlag)
		o.expires, _ = flags.GetString(expiresFlag)
	}
	return o
}

// OnlyRequests reports whether a command only writes a request for approval, and asks no question.
func (f *Factory) OnlyRequests() bool { return f.Called.Flags().Changed(RequestFlag) }

// Requirement returns whether changes to a destination need approval.
func (f *Factory) Requirement(dest *Destination, tokenCommand bool) config.Requirement {
	return f.Settings.Requirement(config.Reached{
		Name: dest.name, URL: dest.URL, Environment: dest.Environment, Workspace: dest.Workspace, TokenCommand: tokenCommand,
	})
}

// permit checks whether a command may change a destination, and returns the approver if there is
// one. With --approval-request it writes the request and ends the command. A dry run is always
// permitted, but its approval is verified.
func (f *Factory) permit(ctx context.Context, dest *Destination, need config.Requirement, readOnly bool, s Subject) (state.Approver, error) {
	if s.Prepare != nil && (need.Required || f.OnlyRequests()) {
		if err := s.Prepare(ctx, dest); err != nil {
			return state.Approver{}, err
		}
	}
	o, flags := f.approvalFlags(), f.Called.Flags()
	switch given := cmdline.Takes(f.Called, "approval") && f.Settings.Approval != ""; {
	case flags.Changed(RequestFlag):
		return state.Approver{}, f.requestApproval(dest, need, s, o)
	case flags.Changed(expiresFlag):
		return state.Approver{}, exit.Usage(fmt.Errorf("--%s needs --%s", expiresFlag, RequestFlag), "")
	case readOnly && !flags.Changed("approval"), !need.Required && !given:
		return state.Approver{}, nil
	case s.None != "":
		return state.Approver{}, f.Refuse(need, "%s", s.None)
	case !given:
		return state.Approver{}, f.Refuse(need, "%s needs --approval FILE, signed by an approver", strings.TrimPrefix(f.Command, "assetferry "))
	case need.ApproversFile == "":
		return state.Approver{}, exit.Usage(errors.New("--approval: the destination has no approvers_file"), "add approvers_file to assetferry.yaml, or omit --approval")
	}
	return f.verifyApproval(dest, need, s)
}

// Refuse is the error of a command without a valid approval.
func (f *Factory) Refuse(need config.Requirement, format string, args ...any) error {
	hint := "read about approvals:\n  assetferry help security"
	if f.Called.Flags().Lookup(RequestFlag) != nil {
		hint = "request an approval:\n  " + f.sameCommand("--"+RequestFlag, "request.json")
	}
	if f.Called.Name() == "migrate" { // its plan can be approved
		hint = "write a plan for the approval:\n  " + f.Again("plan", f.Called.Flags().Args(), "--output", "plan.jsonl")
	}
	return exit.With(exit.CodeSafetyCheck, refusal(need, fmt.Errorf(format, args...)), hint)
}

func refusal(need config.Requirement, why error) error {
	return fmt.Errorf("destination %s requires an approval: %w; nothing was sent", need.Destination, why)
}

// sameCommand returns the command line of this call without flags for approvals and answers.
func (f *Factory) sameCommand(more ...string) string {
	var flags []string
	f.Called.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "approval", RequestFlag, expiresFlag, "apply", "yes", "dry-run", "json", "quiet", "verbose", "progress", "log-file", "metrics", "notify", "notify-file":
			return
		}
		flags = append(flags, cmdline.FlagWords(flag)...)
	})
	return cmdline.Line(strings.TrimPrefix(f.Command, "assetferry "), append(flags, more...), f.Called.Flags().Args()...)
}

// verifyApproval checks that an approver signed the action of a command.
func (f *Factory) verifyApproval(dest *Destination, need config.Requirement, s Subject) (by state.Approver, err error) {
	refuse := func(format string, args ...any) (state.Approver, error) {
		return state.Approver{}, f.Refuse(need, format, args...)
	}
	list, err := f.Approvers(need.ApproversFile)
	if err != nil {
		return by, err
	}
	name := f.Settings.Approval
	text, err := readSmall(name)
	if err != nil {
		return refuse("the approval cannot be read: %w", err)
	}
	signature, err := readSmall(name + ".sig")
	if errors.Is(err, fs.ErrNotExist) {
		e := refusal(need, fmt.Errorf("%s is not signed: there is no %s.sig", ui.Sanitize(name), ui.Sanitize(name)))
		return by, exit.With(exit.CodeSafetyCheck, e, "an approver signs it:\n  "+signCommand(name))
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
	if request.Destination != dest.Identity() {
		return refuse("the approval in %s is for another destination, %s", ui.Sanitize(name), ui.Sanitize(request.Destination))
	}
	differs, err := s.Covers(request)
	if err != nil {
		return by, err
	}
	if len(differs) > 0 {
		return refuse("the approval in %s is for something else: %s", ui.Sanitize(name), ui.Sanitize(strings.Join(differs, "; ")))
	}
	if why := ownApproval(signer, request); why != "" {
		return refuse("%s", ui.Sanitize(why))
	}
	f.Out.Notef("Approver     %s, signed with %s", ui.Sanitize(signer.Names[0]), signer.Fingerprint)
	return state.Approver{Name: signer.Names[0], Key: signer.Fingerprint}, nil
}

// ownApproval returns why a signer is not a second person; empty if the signer is one. The signer
// must differ from the account that planned, the one that made the request, and the one that runs
// the command, which could have changed the request.
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

// Approvers reads the list of approvers from a file that this account cannot change.
func (f *Factory) Approvers(name string) (*approvers.List, error) {
	if err := f.OutOfReach(name); err != nil {
		return nil, exit.With(exit.CodeSafetyCheck, err, exit.OrHint(exit.HintOf(err), "check approvers_file in assetferry.yaml"))
	}
	text, err := readSmall(name)
	if err != nil {
		return nil, exit.With(exit.CodeSafetyCheck, fmt.Errorf("approvers_file: %w", err), "check approvers_file in assetferry.yaml")
	}
	list, err := approvers.Parse(name, text)
	if err != nil {
		return nil, exit.With(exit.CodeSafetyCheck, fmt.Errorf("approvers_file: %w", err), "each line needs a name, a key type and a key: see ALLOWED SIGNERS in ssh-keygen(1)")
	}
	return list, nil
}

// readSmall reads a file up to the size limit of requests.
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

// requestApproval writes the request for an approver to sign, and ends the command.
func (f *Factory) requestApproval(dest *Destination, need config.Requirement, s Subject, o approvalFlags) error {
	life, err := config.ParseDuration(o.expires)
	switch {
	case s.None != "":
		return f.Refuse(need, "%s", s.None)
	case err != nil || life <= 0 || life > mostExpiry:
		return exit.Usage(fmt.Errorf("--%s: %q is not a duration of at most 366 days", expiresFlag, o.expires), "such as 7d or 12h")
	}
	now, account := clock.Now(), ownership.OSAccount()
	r := approval.Request{
		Destination: dest.Identity(), DestinationURL: dest.URL, PlannedBy: account, RequestedBy: account,
		RequestedAt: now, ExpiresAt: now.Add(life),
	}
	if err := s.Fill(&r); err != nil {
		return err
	}
	text, err := r.Encode()
	if err != nil {
		return err
	}
	if _, err := approval.ParseRequest(text); err != nil {
		return fmt.Errorf("write approval request: %w", err)
	}
	if err := MayReplaceWith(o.request, RequestFlag, "an approval request", approval.IsRequest); err != nil {
		return err
	}
	if err := WriteNew(o.request, true, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return fmt.Errorf("write approval request: %w", err)
	}
	f.Out.Printf("The approval request is in %s. It expires on %s. Nothing was sent.", ui.Sanitize(o.request), r.ExpiresAt.Local().Format(time.DateTime))
	f.Out.Printf("An approver reads and signs it, which writes %s.sig:\n    %s", ui.Sanitize(o.request), signCommand(o.request))
	f.Out.Printf("Next:\n  %s", f.sameCommand(append(s.Acts, "--approval", o.request)...))
	return exit.Said(exit.CodeDone)
}

// signCommand returns the command by which an approver signs a request.
func signCommand(request string) string {
	return "ssh-keygen -Y sign -n " + approvers.Namespace + " -f ~/.ssh/id_ed25519 " + ui.Sanitize(shell.Word(request))
}

// CommandSubject is the subject of a command that is approved with its arguments.
func (f *Factory) CommandSubject() Subject {
	if f.Called.Flags().Lookup(RequestFlag) == nil {
		return Subject{None: fmt.Sprintf("%s cannot be approved", strings.TrimPrefix(f.Command, "assetferry "))}
	}
	words := strings.Fields(strings.TrimPrefix(f.Command, "assetferry "))
	f.Called.LocalFlags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "approval", RequestFlag, expiresFlag, "yes", "dry-run":
			return
		}
		if !cmdline.IsGlobal(f.Called, flag) {
			words = append(words, cmdline.FlagWords(flag)...)
		}
	})
	words = append(append(words, "--"), f.Called.Flags().Args()...) // after --, no argument counts as a flag
	return Subject{
		Fill: func(r *approval.Request) error {
			r.Kind, r.Command = approval.KindCommand, approval.Words(words)
			return nil
		},
		Covers: func(r approval.Request) ([]string, error) {
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
