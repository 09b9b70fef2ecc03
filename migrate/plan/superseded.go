package plan

import (
	"fmt"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// supersededError ends the listing of a run that is overtaken.
type supersededError struct{ key sources.Key }

func (e *supersededError) Error() string {
	return fmt.Sprintf("%s changed after this run processed it", e.key)
}

// changedSince ends the listing if an object changed after the run has processed it. It compares
// only the fingerprint, which the run itself has stored.
func (p *planning) changedSince(o sources.Object, s migrate.Situation, receipt state.Receipt, alias state.Alias) error {
	if s.Skipped != "" || s.Failed != "" {
		return nil
	}
	was := receipt.Object
	if s.Memory == migrate.MemoryNone {
		was = alias.Object
	}
	known := s.Memory != migrate.MemoryNone || alias.Key != ""
	again := p.Rules.Sync.RefreshMetadata // which it was
	if known && sameFingerprint(o, was, p.Source.Traits().Precision) && (again || !s.MetadataRefreshed) {
		return nil
	}
	return &supersededError{o.Key}
}
