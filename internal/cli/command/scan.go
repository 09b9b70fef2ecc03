package command

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/scan"
)

// AddScanFlags adds the flags for the scan of objects before their upload.
func AddScanFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "scan-command", "upload only objects that this `command` accepts: it reads the object from stdin and exits with 0, or with 1 to refuse it; or clamd:SOCKET, clamd:HOST:PORT, none (see assetferry help scan)")
	cmdline.Setting(f, "scan-timeout", "fail a scan that makes no progress for this `duration`")
}

// Scanner returns the scanner of the settings; nil if there is none. It starts nothing.
func (f *Factory) Scanner() (*scan.Scanner, error) {
	if !f.Settings.Scans() {
		return nil, nil //nolint:nilnil // no scanner is no error
	}
	if f.Settings.ScanTimeout <= 0 {
		return nil, exit.Usage(errors.New("--scan-timeout must be more than 0"), "omit it for the default")
	}
	s, err := scan.New(f.Settings.ScanCommand, f.Settings.ScanTimeout)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--scan-command: %w", err), "name an installed program that reads stdin, or a socket of clamd:\n  --scan-command 'clamdscan -'\n  --scan-command clamd:/run/clamav/clamd.ctl")
	}
	return s, nil
}
