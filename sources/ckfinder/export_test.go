package ckfinder

import (
	"math"
	"time"
)

// AlwaysLookAgain has a source list folders anew for each file, however long that takes.
func (s *Source) AlwaysLookAgain() { s.lastFolder.slow = math.MaxInt64 }

// GiveUpAfter sets how long a command may take.
func (s *Source) GiveUpAfter(d time.Duration) { s.timeout = d }
