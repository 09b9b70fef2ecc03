package migratecmd

import (
	"context"
	"errors"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/scan"
)

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
