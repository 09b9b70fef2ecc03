package migratecmd

import (
	"context"
	"errors"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/scan"
	"assetferry/internal/ui"
)

// checkScanner shows that the scanner of the run that a plan is for works: it scans a short text. A
// scanner without an answer fails the plan, as it would stop the run.
func checkScanner(ctx context.Context, f *command.Factory, s *endpoints) error {
	scanner, err := f.Scanner()
	if err != nil || s.rules.AdoptOnly {
		return err
	}
	if scanner == nil {
		if s.pair.Scans && f.Settings.ScanCommand != config.NoScan {
			f.Out.Notef("Scan         earlier runs scanned this source, and --scan-command is not set: the run would stop")
		}
		return nil
	}
	err = scanner.Check(ctx)
	if refused, works := errors.AsType[*scan.RefusedError](err); works {
		f.Out.Notef("Scan         %s refuses a short text: %s", ui.Sanitize(scanner.String()), ui.Sanitize(refused.Verdict))
		return nil
	}
	if err == nil {
		f.Out.Notef("Scan         %s accepts a short text", ui.Sanitize(scanner.String()))
	}
	return err
}

// openScanner returns the scanner of a run; nil if it needs none. A source that was scanned once is
// scanned until a user ends that: a setting that got lost must not let everything pass.
func openScanner(ctx context.Context, f *command.Factory, s *endpoints) (*scan.Scanner, error) {
	scanner, err := f.Scanner()
	if err != nil || s.rules.AdoptOnly {
		return nil, err
	}
	if scanner == nil && s.pair.Scans && f.Settings.ScanCommand != config.NoScan {
		return nil, exit.With(exit.CodeSafetyCheck, errors.New("earlier runs scanned this source, and --scan-command is not set; nothing was uploaded"),
			"set --scan-command again, or use --scan-command none to upload without a scan from now on")
	}
	if scans := scanner != nil; scans != s.pair.Scans {
		if err := s.store.SaveScans(ctx, s.pair.ID, scans); err != nil {
			return nil, err
		}
	}
	return scanner, nil
}
