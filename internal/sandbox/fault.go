package sandbox

import "assetferry/internal/sandbox/fault"

// A Fault is a rule for misbehaving, made by [ParseFault].
type Fault = fault.Rule

// ParseFault reads a rule in the language of [fault.Parse]. No answer here arrives in
// pieces, so [New] refuses rules about streams.
func ParseFault(text string) (Fault, error) { return fault.Parse(text) }
