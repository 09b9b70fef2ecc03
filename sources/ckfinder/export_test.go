package ckfinder

import "math"

// AlwaysLookAgain has a source list folders anew for each file, however long that takes.
func (s *Source) AlwaysLookAgain() { s.lastFolder.slow = math.MaxInt64 }
