package evidencecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"assetferry/internal/approvers"
	"assetferry/internal/certificate"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
	"assetferry/state/actionlog"
)

// checkFlags are the flags of certificate check.
type checkFlags struct {
	signers, inclusion, log string
	live, content           bool
}

func newCheckCommand(f *command.Factory) *cobra.Command {
	var o checkFlags
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Verify a certificate",
		Long: `Check verifies the signature of a certificate, and the list of assets beside it
(FILE.assets) if it exists. Check needs no state database, no key and no
network. The certificate contains the public key, so compare its fingerprint
with one that you trust, or use --signers.

With --live, check also compares the state database and the destination with the
certificate, and lists all changes since. It compares names, sizes, places and
times of the last change from a listing, so it also finds changed metadata. With
--content, it downloads each asset and compares its checksum.

Exit code 3 means that the file is intact, but states that the migration is
incomplete or not verified.
`,
		Args: cmdline.One("FILE"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if o.content && !o.live {
				return exit.Usage(errors.New("--content needs --live"), "")
			}
			return check(ctx, f, args[0], o)
		}),
	}
	c.Flags().StringVar(&o.signers, "signers", "", "require a signer in this `file` of allowed signers (see ssh-keygen)")
	c.Flags().StringVar(&o.inclusion, "inclusion", "", "verify the `file` that certificate prove wrote")
	c.Flags().StringVar(&o.log, "log", "", "verify that this `file` of state log --output continues the action log of the certificate")
	c.Flags().BoolVar(&o.live, "live", false, "compare the state database and the destination with the certificate")
	c.Flags().BoolVar(&o.content, "content", false, "with --live: compare the checksum of every asset")
	return c
}

func check(ctx context.Context, f *command.Factory, name string, o checkFlags) error {
	c, err := open(ctx, f, name)
	if err != nil {
		return err
	}
	show(f, name, c)
	if err := checkSigner(f, c, o.signers); err != nil {
		return err
	}
	if err := checkList(f, name, c); err != nil {
		return err
	}
	if o.inclusion != "" {
		if err := checkInclusion(f, o.inclusion, c); err != nil {
			return err
		}
	}
	if o.log != "" {
		if err := checkLog(f, o.log, c); err != nil {
			return err
		}
	}
	if o.live {
		if err := checkLive(ctx, f, name, c, o.content); err != nil {
			return err
		}
	}
	if !c.Verdict.Complete {
		f.Out.Notef("The certificate is intact, but the migration is not complete and verified.")
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// open reads and verifies a certificate.
func open(ctx context.Context, f *command.Factory, name string) (c certificate.Certificate, err error) {
	text, err := readFile(name, certificate.MaxBytes)
	if err != nil {
		return c, err
	}
	c, err = certificate.Open(ctx, text)
	return c, differs(f, name, err, getOriginal)
}

// show prints the content of a certificate.
func show(f *command.Factory, name string, c certificate.Certificate) {
	f.Out.Event("certificate", eventOf(name, c))
	line := func(title, format string, args ...any) {
		f.Out.Printf("%-13s %s", title, ui.Sanitize(fmt.Sprintf(format, args...)))
	}
	line("Result", "%s. %s", c.Verdict.Title, c.Verdict.Message)
	line("Source", "%s", c.Source)
	line("Covers", "%s", scopeText(c.Scope))
	destination := c.Destination + ", " + c.DestinationURL
	if c.Sandbox {
		destination += " (SANDBOX: no production data)"
	}
	line("Destination", "%s", destination)
	line("Assets", "%s, Merkle root %s", summary(c.Assets), c.Assets.Root)
	line("Last run", "%s listed: %s", ui.Counted(c.Listed.Objects, "object"), counts(c.Results))
	if len(c.Problems) > 0 {
		line("Problems", "%s", counts(c.Problems))
	}
	if len(c.Skipped) > 0 {
		line("Skipped", "%s", counts(c.Skipped))
	}
	line("Verification", "%s", verification(c.Verification))
	if u := c.URLs; u != nil {
		line("URLs", "%s checked at %s, %s wrong, %s private but readable", ui.Count(u.Checked), u.At.Local().Format(time.DateTime), ui.Count(u.Wrong), ui.Count(u.Readable))
	} else {
		line("URLs", "not checked")
	}
	until := ""
	if c.Undo.Until != nil {
		until = "until " + c.Undo.Until.Local().Format(time.DateTime) + ". "
	}
	line("Undo", "%s%s", until, c.Undo.Message)
	for _, r := range c.Runs {
		line("Run", "%s", runText(r))
	}
	line("Action log", "entry %d, SHA-256 %s", c.Log.Entries, c.Log.Checksum)
	line("Created", "%s with assetferry %s", c.CreatedAt.Local().Format(time.DateTime), c.Tool)
	line("Signed with", "%s", c.Signer.Fingerprint)
}

func counts(list []certificate.Count) string {
	parts := make([]string, len(list))
	for n, c := range list {
		parts[n] = ui.Count(c.Objects) + " " + strings.TrimSpace(c.State+" "+c.Reason)
	}
	return strings.Join(parts, ", ")
}

func verification(v certificate.Verification) string {
	if v.At == nil {
		return "none"
	}
	return fmt.Sprintf("%s at %s: %s verified, %s of them by checksum, %s not verified, %s", v.Level, v.At.Local().Format(time.DateTime),
		ui.Count(v.Verified), ui.Count(v.ByChecksum), ui.Count(v.NotVerified), ui.Counted(v.Differences, "difference"))
}

func runText(r certificate.Run) string {
	command := r.Command
	if r.Wave != "" {
		command += " of wave " + r.Wave
	}
	text := fmt.Sprintf("%s %s, %s, plan %s", r.ID, command, r.State, r.PlanHash)
	if len(r.Overrides) > 0 {
		text += ", with " + strings.Join(r.Overrides, " ")
	}
	switch {
	case r.Key != "":
		text += fmt.Sprintf(", approved by %s with %s", r.Approver, r.Key)
	case r.Approver != "":
		text += fmt.Sprintf(", approved by %s (stated by %s)", r.Approver, r.StatedBy)
	}
	return text
}

// checkSigner verifies that the signer is in a list. Without a list, only the reader can decide.
func checkSigner(f *command.Factory, c certificate.Certificate, signers string) error {
	if signers == "" {
		f.Out.Printf("The signature is valid. Compare the fingerprint with one that you trust, or use --signers.")
		return nil
	}
	text, err := readFile(signers, 1<<20)
	if err != nil {
		return exit.Usage(fmt.Errorf("--signers: %w", err), "")
	}
	list, err := approvers.Parse(signers, text)
	if err != nil {
		return exit.Usage(fmt.Errorf("--signers: %w", err), "each line needs a name, a key type and a key: see ALLOWED SIGNERS in ssh-keygen(1)")
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(c.Signer.SSHKey))
	if err != nil {
		return err
	}
	signer, err := list.Holder(key, c.CreatedAt)
	if err != nil {
		return exit.With(exit.CodeSafetyCheck, fmt.Errorf("the signer of the certificate is not in %s: %w", ui.Sanitize(signers), err), "check the list of signers")
	}
	f.Out.Printf("The signature is valid. Signer: %s", ui.Sanitize(signer.Names[0]))
	return nil
}

// checkList verifies the list beside a certificate.
func checkList(f *command.Factory, name string, c certificate.Certificate) error {
	list, err := os.Open(name + listSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		f.Out.Printf("There is no list of assets beside the certificate (%s), so it was not verified.", ui.Sanitize(name+listSuffix))
		return nil
	} else if err != nil {
		return err
	}
	defer list.Close()
	err = certificate.CheckList(list, c.Assets, func(certificate.Record) error { return nil })
	if err != nil {
		return differs(f, name+listSuffix, err, getOriginal)
	}
	f.Out.Printf("The list of assets is intact: %s.", summary(c.Assets))
	return nil
}

func checkInclusion(f *command.Factory, name string, c certificate.Certificate) error {
	text, err := readFile(name, certificate.MaxInclusion)
	if err != nil {
		return err
	}
	i, err := certificate.ParseInclusion(text)
	if err != nil {
		return differs(f, name, err, getOriginal)
	}
	r, err := i.Check(c.Assets)
	if err != nil {
		return differs(f, name, err, getOriginal)
	}
	f.Out.Printf("%s is in the certificate: asset %s, %s, SHA-256 %s", ui.Sanitize(r.FullKey()), ui.Sanitize(r.Asset), ui.Bytes(r.Size), ui.Sanitize(r.SHA256))
	f.Out.Event("inclusion", inclusionEvent(i, r))
	return nil
}

// checkLog verifies that an export contains the last entry of a certificate.
func checkLog(f *command.Factory, name string, c certificate.Certificate) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	found := false
	_, _, err = actionlog.Check(file, func(_ actionlog.Entry, h actionlog.Head) { found = found || h == c.Log })
	if err == nil && !found {
		err = fmt.Errorf("%w: it does not contain entry %d of the certificate", actionlog.ErrChanged, c.Log.Entries)
	}
	if err != nil {
		return differs(f, name, err, "compare the file with another export:\n  assetferry state log --output FILE")
	}
	f.Out.Printf("The action log is intact, and contains entry %d of the certificate.", c.Log.Entries)
	return nil
}
