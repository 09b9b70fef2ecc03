package sources

import (
	"testing"
	"time"
)

func TestResized(t *testing.T) {
	for _, tag := range []string{"", "0123abcd", "a|listed=b", "a|listed=-1"} {
		listed := Object{Key: "a", Size: 100, Time: time.Unix(1, 0), VersionTag: tag}
		resized := listed.Resized(30)
		if resized.Size != 30 || resized.VersionTag == tag || resized.Listed() != listed || resized.Resized(40).Listed() != listed {
			t.Errorf("%q: %+v", tag, resized)
		}
		if got := resized.Resized(100); got != listed {
			t.Errorf("%q: with the listed size %+v", tag, got)
		}
		if listed.Listed() != listed {
			t.Errorf("%q: a listed object is taken for a resized one", tag)
		}
		later := listed
		later.Time = time.Unix(2, 0)
		if got := later.ResizedLike(resized); got.Size != 30 || got.VersionTag != resized.VersionTag || got.Time != later.Time {
			t.Errorf("%q: the next listing is %+v", tag, got)
		}
		for _, other := range []Object{{Key: "a", Size: 101, VersionTag: tag}, {Key: "a", Size: 100, VersionTag: tag + "x"}, {Key: "a", Size: 30, VersionTag: tag}} {
			if got := other.ResizedLike(resized); got != other {
				t.Errorf("%q: another version %+v became %+v", tag, other, got)
			}
		}
		if got := listed.ResizedLike(listed); got != listed {
			t.Errorf("%q: a correct size became %d", tag, got.Size)
		}
	}
}
