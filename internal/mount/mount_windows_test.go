package mount

import "testing"

func TestIsShare(t *testing.T) {
	for volume, want := range map[string]bool{
		`C:`: false, `\\?\C:`: false, `\\.\C:`: false, `\\server\share`: true, `//server/share`: true, `\\?\UNC\server\share`: true, ``: false,
	} {
		if got := isShare(volume); got != want {
			t.Errorf("%s: got %v", volume, got)
		}
	}
}
