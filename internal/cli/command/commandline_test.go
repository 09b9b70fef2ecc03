package command

import "testing"

// The action log is kept for years, so no word of a command line in it may contain a secret.
func TestWithoutCredentials(t *testing.T) {
	for word, want := range map[string]string{
		"./photos": "./photos",
		"ckfinder+https://ada:secret@www.example.com/connector?key=secret#x": "ckfinder+https://www.example.com/connector",
		"--endpoint=https://ada:secret@s3.example.com":                       "--endpoint=https://s3.example.com",
		"s3://bucket/prefix":                     "s3://bucket/prefix",
		"https://user:%zz@example.com":           "…",
		"rclone:remote:path":                     "rclone:remote:path",
		"rclone:remote,pass=secret:path":         "rclone:…",
		"rclone::ftp,host=x,pass=secret:path":    "rclone:…",
		"environment=https://ada:secret@e.com/?": "…",
	} {
		if got := withoutCredentials(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
}

// All flags that pass a safety check are overrides.
func TestIsOverride(t *testing.T) {
	for name, want := range map[string]bool{"accept-rules": true, "accept-incomplete": true, "yes": true, "restart": true, "dry-run": false, "json": false} {
		if isOverride(name) != want {
			t.Errorf("%s: got %v", name, !want)
		}
	}
}
