package apply

import (
	"context"
	"errors"
	"fmt"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// resize corrects the size of an item if sending its content failed because the storage lists another
// one, and reports whether to send it again. The state database has the size first: if the next upload
// remains unconfirmed, its asset is recognised by it.
func (a *Applier) resize(ctx context.Context, i *state.Item, c *content, err error) (again bool, _ error) {
	e, ok := errors.AsType[*sources.SizeError](err)
	if !ok || i.VersionNum > 0 || !isBodyError(err) || e.Object.Size == i.Size {
		return false, err
	}
	corrected := *i
	corrected.Object = e.Object
	if err := a.State.Resize(ctx, a.run.Num, corrected); err != nil {
		return false, migrate.NewStateError(err)
	}
	*i, c.item, c.scanned = corrected, corrected, nil
	return true, nil
}

// resizedRemark returns the remark on an item whose storage lists another size, or "".
func resizedRemark(i state.Item) string {
	listed := i.Object.Listed()
	if listed == i.Object {
		return ""
	}
	return fmt.Sprintf("%s: %d bytes instead of %d", migrate.RemarkListedSize, listed.Size, i.Size)
}
