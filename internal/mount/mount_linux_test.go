package mount

import (
	"strings"
	"testing"
)

// mountinfo has lines as proc(5) describes them: with and without optional fields, with
// escaped blanks.
const mountinfo = `24 30 0:22 / /proc rw,nosuid shared:12 - proc proc rw
30 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
98 30 0:52 / /home/me/far rw,nosuid,nodev,relatime shared:55 master:2 - fuse.sshfs me@server:/home/me rw,user_id=1000
99 30 0:53 / /mnt/with\040blank rw - fuse.gocryptfs /home/me/cipher rw
100 30 0:5
`

func TestFindMount(t *testing.T) {
	for _, c := range []struct {
		minor        uint32
		kind, source string
	}{{52, "fuse.sshfs", "me@server:/home/me"}, {53, "fuse.gocryptfs", "/home/me/cipher"}, {5, "", ""}, {54, "", ""}} {
		if kind, source := findMount(strings.NewReader(mountinfo), 0, c.minor); kind != c.kind || source != c.source {
			t.Errorf("0:%d: got %q, %q", c.minor, kind, source)
		}
	}
}
