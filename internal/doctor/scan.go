package doctor

import (
	"context"
	"errors"

	"assetferry/internal/scan"
	"assetferry/internal/ui"
)

// scans reports whether objects are scanned before their upload.
func (d *Doctor) scans() bool {
	return d.Settings != nil && d.Settings.Scans()
}

// checkScan has the scanner scan a short text.
func (d *Doctor) checkScan(ctx context.Context) Finding {
	s, err := d.Scanner()
	if err != nil {
		return d.broken(err)
	}
	err = s.Check(ctx)
	var broken *scan.Error
	refused, answers := errors.AsType[*scan.RefusedError](err)
	switch {
	case answers:
		return warning("check its rules, unless they refuse any text", "%s refuses a short text: %s", ui.Sanitize(s.String()), ui.Sanitize(refused.Verdict))
	case errors.As(err, &broken):
		return failed("start the scanner, or correct --scan-command (see assetferry help scan)", "%s: %v", ui.Sanitize(broken.Scanner), broken.Err)
	case err != nil:
		return d.broken(err)
	}
	return ok("%s accepts a short text", ui.Sanitize(s.String()))
}
