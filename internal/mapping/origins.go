package mapping

import "assetferry/internal/metadata"

// Origins are those that are looked at, in order of precedence.
func (m *Mapping) Origins() []metadata.Source { return m.usable().precedence() }
