package mapping

import "assetferry/internal/metadata"

// Origins returns the metadata sources in order of precedence.
func (m *Mapping) Origins() []metadata.Source { return m.usable().precedence() }
