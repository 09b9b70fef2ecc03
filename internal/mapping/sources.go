package mapping

import "assetferry/internal/metadata"

// Sources returns the metadata sources in order of precedence.
func (m *Mapping) Sources() []metadata.Source { return m.usable().precedence() }
