package safety

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"assetferry/internal/header"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

const (
	// fewestJudged is the minimum number of contents to check before the result counts.
	fewestJudged = 10
	// mostJudged is the maximum number of contents to check.
	mostJudged = 100
)

// CheckContents fails if most of the new contents that would replace assets do not have the type of
// their names, as after the files of a disk were encrypted. Replaced is the number of replacements
// among the planned items.
func (g SafetyChecks) CheckContents(ctx context.Context, s sources.Source, replaced int64, planned iter.Seq2[state.Item, error]) error {
	if replaced < fewestJudged || replaced <= g.AcceptChanges {
		return nil
	}
	step := (replaced + mostJudged - 1) / mostJudged
	var seen, judged, odd int64
	for i, err := range planned {
		if err != nil {
			return err
		}
		if i.Action != state.Replace {
			continue
		}
		if seen++; seen%step != 0 {
			continue
		}
		known, fits, err := fits(ctx, s, i.Object)
		if err != nil {
			return err
		}
		if known {
			judged++
		}
		if known && !fits {
			odd++
		}
	}
	if judged < fewestJudged || odd*2 <= judged {
		return nil
	}
	return &migrate.SafetyCheckError{
		What:     fmt.Sprintf("%[2]d of %[1]d changed objects that were read have a type that does not match their names, %[3]s; nothing was uploaded", judged, odd, migrate.CheckLooksEncrypted),
		NextStep: "open some of them; if they are intact, use {accept_changes} " + fmt.Sprint(replaced),
	}
}

// fits reports whether the type of an object's content is known, and whether it is the type that
// the name indicates.
func fits(ctx context.Context, s sources.Source, o sources.Object) (known, fits bool, err error) {
	_, extension := migrate.SplitName(string(o.Key))
	extension = strings.ToLower(extension)
	if o.Size == 0 || header.Agrees(extension, "") { // an unknown type cannot be wrong
		return false, false, nil
	}
	r, err := s.Open(ctx, o, 0)
	if err != nil {
		return false, false, context.Cause(ctx) // the upload reports the error
	}
	head := make([]byte, min(o.Size, header.Enough))
	_, err = io.ReadFull(r, head)
	if err := errors.Join(err, r.Close()); err != nil {
		return false, false, context.Cause(ctx)
	}
	return true, header.Agrees(extension, header.KindOf(head)), nil
}
