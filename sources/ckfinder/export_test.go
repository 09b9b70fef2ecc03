package ckfinder

import (
	"math"
	"time"
)

// AlwaysLookAgain makes a source list the folder again for each file, however long that takes.
func (s *Source) AlwaysLookAgain() { s.lastFolder.slow = math.MaxInt64 }

// GiveUpAfter sets the timeout of a command.
func (s *Source) GiveUpAfter(d time.Duration) { s.timeout = d }
