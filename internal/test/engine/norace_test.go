//go:build !race

package engine

import "assetferry/internal/test/longtest"

// slowdown is how much less the longest tests try than in their long forms.
var slowdown = longtest.Size(16, 1)
