package rclone

import (
	"errors"
	"strings"
	"testing"
)

func TestParseRemote(t *testing.T) {
	for text, want := range map[string]string{
		"drive:":                            "drive:",
		"drive:.":                           "drive:",
		"drive:photos/2024/":                "drive:photos/2024",
		"drive:photos//a/../b":              "drive:photos/b",
		"sftp:/srv/photos/":                 "sftp:/srv/photos",
		"my drive:x":                        "my drive:x",
		":local:/srv/photos":                ":local:/srv/photos",
		":sftp,host=example.com:photos":     ":sftp,host=example.com:photos",
		`:sftp,host="a:b,c",port=22:photos`: `:sftp,host="a:b,c",port=22:photos`,
		"drive,shared_with_me:photos":       "drive,shared_with_me:photos",
		":sftp,key_file=/home/me/id,key_use_agent=true:x": ":sftp,key_file=/home/me/id,key_use_agent=true:x",
		"s3,env_auth=true:bucket/a:b":                     "s3,env_auth=true:bucket/a:b",
	} {
		r, err := ParseRemote(text)
		if err != nil || r.String() != want {
			t.Errorf("%s becomes %s, %v", text, r, err)
		}
		if again, err := ParseRemote(r.String()); err != nil || again.String() != want {
			t.Errorf("%s becomes %s, %v", r, again, err)
		}
	}
	for _, text := range []string{"", "drive", ":", ":/x", "/srv/photos", "./a:b", `:sftp,host="a:b`} {
		if r, err := ParseRemote(text); err == nil {
			t.Errorf("%q becomes %s", text, r)
		}
	}
	if _, err := ParseRemote("drive"); err == nil || err.Error() != "the colon after the remote is missing" {
		t.Errorf("without a colon: %v", err)
	}
	for _, text := range []string{
		`:crypt,remote=':sftp,host=x,pass=hush-hush:a':`, `:union,upstreams='a: ":sftp,host=x,pass=hush-hush:a"':`, `:alias,remote=":crypt,remote=':s3,secret_access_key=hush:a':":`,
		`:webdav,url='https://host/',headers='Cookie,hush':a`, `:azureblob,sas_url='https://host/c?sig=hush':a`,
	} {
		if _, err := ParseRemote(text); !errors.Is(err, ErrSecretParameter) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{":sftp,host=x,pass=hush-hush:a", ":s3,secret_access_key=hush:a", "drive,token='{\"hush\":1}':a", ":webdav,url='https://me:hush@host/':a", ":http,url=https://me@hush/:x"} {
		if _, err := ParseRemote(text); !errors.Is(err, ErrSecretParameter) || strings.Contains(err.Error(), "hush") {
			if text != ":http,url=https://me@hush/:x" { // the colon ends it: without quotes, rclone reads another URL
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}
