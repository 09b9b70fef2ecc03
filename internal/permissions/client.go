package permissions

import (
	"context"
	"iter"

	"assetferry/internal/assets"
)

// In returns a workspace of the service. It lists the categories for administrators, because a token with fewer
// rights does not see all of them.
func In(c *assets.Client) Service { return workspace{c} }

type workspace struct{ *assets.Client }

func (w workspace) Categories(ctx context.Context) iter.Seq2[assets.Category, error] {
	return w.CategoriesInUse(ctx)
}
