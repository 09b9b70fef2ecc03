package rclone

import (
	"os"
	"slices"
	"testing"
)

const remotesBehindOthers = `
[disk]
type = local
root = /

[pool]
type = union
upstreams = "disk:my photos:ro" /srv/photos disk:b:writeback

[secret]
type = crypt
remote = disk:a

[both]
type = union
upstreams = secret: pool:x:nc

[alias]
type = alias
remote = secret:

[folders]
type = combine
upstreams = "x=alias:" y=pool:

[loop]
type = alias
remote = loop:a
`

// TestBehind verifies what is found behind unions and encrypted remotes, also behind others.
func TestBehind(t *testing.T) {
	environ := environment(t, "RCLONE_CONFIG_SET_TYPE=union", "RCLONE_CONFIG_SET_UPSTREAMS=disk:e /f")
	if err := os.WriteFile(valueOf(environ, "RCLONE_CONFIG"), []byte(remotesBehindOthers), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, versions[0], environ)
	pool := []string{"disk:my photos", "/srv/photos", "disk:b"}
	for name, want := range map[string]Behind{
		"disk:a":                                {},
		"other:":                                {},
		"loop:":                                 {},
		"pool:x":                                {Upstreams: pool},
		"secret:":                               {Encrypted: []string{"disk:a"}},
		"secret:x":                              {},
		"alias:":                                {Encrypted: []string{"disk:a"}},
		"both:":                                 {Upstreams: append([]string{"secret:", "pool:x"}, pool...), Encrypted: []string{"disk:a"}},
		"folders:":                              {Upstreams: pool, Encrypted: []string{"disk:a"}},
		"folders:x":                             {Upstreams: pool, Encrypted: []string{"disk:a"}},
		"set:":                                  {Upstreams: []string{"disk:e", "/f"}},
		"pool,a=b:":                             {Upstreams: pool},
		":http,url='https://example.com/':a":    {Names: ":http,url='https://example.com/',no_head=true:a"},
		`:union,upstreams='disk:c "disk:d e"':`: {Upstreams: []string{"disk:c", "disk:d e"}},
		`:crypt,remote="pool:":`:                {Upstreams: pool, Encrypted: []string{"pool:"}},
	} {
		r, err := ParseRemote(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Behind(t.Context(), r)
		if err != nil || !slices.Equal(got.Upstreams, want.Upstreams) || !slices.Equal(got.Encrypted, want.Encrypted) || got.Names != want.Names {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}
