package evidencecmd

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/report"
	"assetferry/internal/shell"
	"assetferry/internal/ui"
	"assetferry/sources"
	"assetferry/state"
	"assetferry/state/actionlog"
)

// maxKey is the maximum size of a key file.
const maxKey = 64 << 10

func newCreateCommand(f *command.Factory) *cobra.Command {
	var key, output string
	var incomplete bool
	c := &cobra.Command{
		Use:   "create",
		Short: "Create a certificate of a migration",
		Long: `Create seals the state of a migration in a signed file, and writes the upload
records of all assets to a second file beside it, with the suffix .assets. Keep
both files together. The list contains the keys and URLs of all assets.

The key is an Ed25519 key of ssh-keygen, or of openssl without a passphrase.
Create asks for the passphrase of ssh-keygen. Create replaces no certificate and
sends no request.
Without --accept-incomplete, it refuses a migration that is incomplete or not
verified. For the steps before and after it, see assetferry help evidence.

With --wave, the certificate covers one wave and nothing else. Without --wave,
it covers the whole source, or all waves of the configuration.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if key == "" {
				return exit.Usage(errors.New("--key is missing"), "name the file of an Ed25519 key; to create one:\n  ssh-keygen -t ed25519 -f FILE")
			}
			for _, name := range []string{output, output + listSuffix} {
				if _, err := os.Lstat(name); err == nil {
					return exit.With(exit.CodeError, fmt.Errorf("%s exists, and a certificate is never replaced", ui.Sanitize(name)), "name another file with --output")
				}
			}
			private, err := readKey(ctx, f, key)
			if err != nil {
				return err
			}
			return create(ctx, f, cmd, private, output, incomplete)
		}),
	}
	c.Flags().StringVar(&key, "key", "", "private key `file` that signs")
	c.Flags().StringVar(&output, "output", "certificate.json", "write the certificate to this `file`")
	c.Flags().BoolVar(&incomplete, "accept-incomplete", false, "override: certify a migration that is incomplete or not verified")
	cmdline.Setting(c.Flags(), "wave", "certify only the wave with this `name`")
	c.Flags().String("source", "", "certify the migration of the source with this `name`")
	return c
}

func readKey(ctx context.Context, f *command.Factory, name string) (ed25519.PrivateKey, error) {
	text, err := readFile(name, maxKey)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--key: %w", err), "")
	}
	warnReadable(f, name)
	hint := "name a private Ed25519 key of ssh-keygen, or of openssl without a passphrase; to create one:\n  ssh-keygen -t ed25519 -f FILE"
	key, err := certificate.ParseKey(text, nil)
	if errors.Is(err, certificate.ErrPassphrase) {
		var passphrase []byte
		hint = "run the command in a terminal, and enter the passphrase of the key"
		if passphrase, err = askPassphrase(ctx, f, name); err == nil {
			key, err = certificate.ParseKey(text, passphrase)
		}
	}
	if ctx.Err() != nil { // at the question
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--key %s: %w", ui.Sanitize(name), err), hint)
	}
	return key, nil
}

// warnReadable warns about a private key that other accounts can read, as ssh does.
func warnReadable(f *command.Factory, name string) {
	info, err := os.Stat(name)
	if err == nil && runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		f.Out.Notef("Warning: other users can read the private key %s (mode %04o), so they can sign certificates. To keep it private:\n  %s",
			ui.Sanitize(name), info.Mode().Perm(), "chmod 600 "+shell.Word(name))
	}
}

// askPassphrase asks for a passphrase at the terminal. It is never in a flag or a variable.
func askPassphrase(ctx context.Context, f *command.Factory, name string) ([]byte, error) {
	in, ok := f.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, errors.New("the key needs its passphrase, and stdin is not a terminal")
	}
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(f.Stderr, "Passphrase of %s: ", ui.Sanitize(name))
	defer fmt.Fprintln(f.Stderr)
	type answer struct {
		text []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(int(in.Fd()))
		answered <- answer{text, err}
	}()
	select {
	case a := <-answered:
		return a.text, a.err
	case <-ctx.Done(): // the reader still waits, and the terminal must show what is typed again
		return nil, errors.Join(context.Cause(ctx), term.Restore(int(in.Fd()), before))
	}
}

func create(ctx context.Context, f *command.Factory, cmd *cobra.Command, key ed25519.PrivateKey, output string, incomplete bool) error {
	path, err := f.StatePath(ctx)
	if err != nil {
		return err
	}
	if err := command.MustExist(path); err != nil {
		return err
	}
	store, err := f.OpenState(ctx, path)
	if err != nil {
		return err
	}
	run, err := f.SelectRun(ctx, cmd, store)
	if err != nil {
		return err
	}
	if err := command.ApartFrom(output, run.Pair.Source); err != nil {
		return err
	}
	s, err := subjectOf(ctx, f, store, run)
	if err != nil {
		return err
	}
	c, err := s.certify(ctx, run)
	if err != nil {
		return err
	}
	if !c.Verdict.Complete && !incomplete {
		return exit.With(exit.CodeSafetyCheck, fmt.Errorf("the migration of %s cannot be certified as complete: %s. %s", ui.Sanitize(c.Source), c.Verdict.Title, c.Verdict.Message),
			lacks(f, run, c))
	}
	return seal(ctx, f, store, run, c, key, output)
}

// lacks returns what to do before a migration can be certified.
func lacks(f *command.Factory, run state.Run, c certificate.Certificate) string {
	const or = ", or add --accept-incomplete for a certificate that says so"
	switch kind := report.Kind(c.Verdict.Kind); {
	case kind == report.Complete:
		return "verify all assets" + or + ":\n  " + f.Again("verify", nil)
	case c.Scope.Kind == certificate.ScopeWaves:
		return "migrate and verify all waves; to see them" + or + ":\n  " + f.Again("status", nil) + "\nTo certify one wave:\n  " + f.Again("certificate create", nil, "--wave", waveWithRun(c))
	case kind == report.Selection && run.Pair.Wave != "":
		return "run sync without waves and verify, or add the waves to the configuration" + or
	}
	return "see the reasons" + or + ":\n  " + f.Again("report", nil)
}

// waveWithRun returns the name of the first wave that has a run, or of the first one.
func waveWithRun(c certificate.Certificate) string {
	at := slices.IndexFunc(c.Scope.Waves, func(w certificate.Wave) bool { return w.Run != "" })
	return c.Scope.Waves[max(at, 0)].Name
}

// namesOf returns the names of the waves of a certificate; nil for a certificate of the source.
func namesOf(s certificate.Scope) (names []string) {
	for _, w := range s.Waves {
		names = append(names, w.Name)
	}
	return names
}

// seal writes the list first. The action log names the certificate before the certificate exists,
// so that no certificate is missing in the log.
func seal(ctx context.Context, f *command.Factory, store *state.Store, run state.Run, c certificate.Certificate, key ed25519.PrivateKey, output string) error {
	began := time.Now()
	err := command.WriteNew(output+listSuffix, true, func(w io.Writer) (err error) {
		c.Assets, err = writeList(ctx, store, run.Pair.ID, covers(c.Scope), w)
		return err
	})
	if err != nil {
		return err
	}
	signer, err := certificate.SignerOf(key.Public().(ed25519.PublicKey))
	if err != nil {
		return err
	}
	c.Log, err = store.Note(ctx, actionlog.Entry{Kind: actionlog.CertificateCreated, Run: run.ID, Details: actionlog.Details{
		"assets": c.Assets.Objects, "merkle_root_sha256": c.Assets.Root, "complete": c.Verdict.Complete, "signer": signer.Fingerprint,
		"source": c.Source, "destination": c.Destination, "file": filepath.Base(output), "waves": namesOf(c.Scope),
	}})
	if err != nil {
		return err
	}
	file, err := certificate.Sign(ctx, c, key)
	if err != nil {
		return err
	}
	if err := command.WriteNew(output, true, func(w io.Writer) error { _, err := w.Write(file); return err }); err != nil {
		return err
	}
	if c, err = certificate.Open(ctx, file); err != nil {
		return err
	}
	f.Out.Event("certificate", eventOf(output, c))
	f.Out.Printf("Certified %s in %s: %s. %s", summary(c.Assets), ui.Duration(time.Since(began)), c.Verdict.Title, c.Verdict.Message)
	f.Out.Printf("Wrote %s and %s, signed with %s", ui.Sanitize(output), ui.Sanitize(output+listSuffix), c.Signer.Fingerprint)
	f.Out.Next("Verify the certificate anywhere:", cmdline.Line("certificate check", nil, output))
	if !c.Verdict.Complete {
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// eventOf returns the event of a certificate.
func eventOf(file string, c certificate.Certificate) event.Certificate {
	_, err := os.Stat(file + listSuffix)
	return event.Certificate{
		List: err == nil, File: file, CreatedAt: ui.UTC(c.CreatedAt), Complete: c.Verdict.Complete, Verdict: c.Verdict.Kind, Source: c.Source, Destination: c.Destination,
		Assets: c.Assets.Objects, Bytes: c.Assets.Bytes, Root: c.Assets.Root, Signer: c.Signer.Fingerprint,
		Scope: c.Scope.Kind, Waves: namesOf(c.Scope),
	}
}

// writeList writes the upload records of a source and a destination that a certificate covers.
func writeList(ctx context.Context, store *state.Store, pair int64, covered func(sources.Key) bool, w io.Writer) (certificate.Assets, error) {
	list := certificate.NewListWriter(w)
	for r, err := range store.Receipts(ctx, pair, "") {
		if err != nil {
			return certificate.Assets{}, err
		}
		if !covered(r.Key) {
			continue
		}
		record := recordOf(r)
		if err := list.Add(&record); err != nil {
			return certificate.Assets{}, err
		}
	}
	return list.Close()
}
