// Package evidencecmd has the commands that seal a migration in a certificate, and verify
// certificates.
package evidencecmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state/actionlog"
)

// listSuffix is the suffix of the list of assets beside a certificate.
const listSuffix = ".assets"

// NewCommand makes assetferry certificate.
func NewCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "certificate",
		Short: "Seal a migration in a signed file, and verify such files",
		Long: `A certificate is a signed file that states the result of a migration: the runs
with their plans and approvals, the counts, the verification, and a checksum
over the upload records of all assets. An auditor can verify a certificate
without the state database. For its fields, see assetferry help evidence.
`,
	}
	c.AddCommand(newCreateCommand(f), newCheckCommand(f), newIncludeCommand(f))
	return c
}

// readFile reads a file of limited size.
func readFile(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %s", ui.Sanitize(name), ui.Bytes(most))
	}
	return text, err
}

// differs reports a file or a destination that differs from a certificate, which is a result and no
// error of the command. Other errors are returned.
func differs(f *command.Factory, name string, err error, hint string) error {
	if !errors.Is(err, certificate.ErrChanged) && !errors.Is(err, actionlog.ErrChanged) {
		return err
	}
	text := name + ": " + err.Error()
	f.Out.Event("check", event.Check{Result: "difference", Message: text})
	f.Out.Printf("! %s", ui.Sanitize(text))
	f.Out.Notef("Try: %s", hint)
	return exit.Said(exit.CodeDifference)
}

const getOriginal = "get the original file from the person who created the certificate"

// summary shows the assets of a certificate.
func summary(a certificate.Assets) string {
	return fmt.Sprintf("%s (%s)", ui.Counted(a.Objects, "asset"), ui.Bytes(a.Bytes))
}
