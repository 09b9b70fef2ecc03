package command

import (
	"testing"
)

func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:0": true, "127.1.2.3:80": true, "[::1]:80": true, "localhost:80": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "192.0.2.1:80": false, "example.com:80": false, "": false, "80": false,
	} {
		if got := IsLoopback(listen); got != want {
			t.Errorf("loopback(%q) = %v, want %v", listen, got, want)
		}
	}
}
