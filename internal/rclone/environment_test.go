package rclone

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChildEnvironment(t *testing.T) {
	kept, ignored := childEnvironment([]string{
		"HOME=/home/me", "HTTPS_PROXY=http://proxy", "RCLONE_CONFIG_PASS=x", "RCLONE_CONFIG_DRIVE_TYPE=drive", "RCLONE_TPSLIMIT=4", "RCLONE_BWLIMIT=1M", "RCLONE_TIMEOUT=1m",
		"ASSETFERRY_ACCESS_KEY=x", "RCLONE_RC=1", "RCLONE_USE_SERVER_MODTIME=false", "RCLONE_RC_ADDR=:5572", "RCLONE_RC_HTPASSWD=/x", "RCLONE_LOG_LEVEL=DEBUG", "RCLONE_DRY_RUN=1", "RCLONE_STATS=1s", "RCLONE_DUMP=auth", "RCLONE_ASK_PASSWORD=true",
		"RCLONE_MAX_SIZE=1k", "RCLONE_EXCLUDE=*.jpg", "RCLONE_FILTER_FROM=/x", "rclone_min_age=1d",
	})
	wantKept := []string{"HOME=/home/me", "HTTPS_PROXY=http://proxy", "RCLONE_CONFIG_PASS=x", "RCLONE_CONFIG_DRIVE_TYPE=drive", "RCLONE_TPSLIMIT=4", "RCLONE_BWLIMIT=1M", "RCLONE_TIMEOUT=1m"}
	if diff := cmp.Diff(wantKept, kept); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"RCLONE_EXCLUDE", "RCLONE_FILTER_FROM", "RCLONE_MAX_SIZE", "RCLONE_MIN_AGE"}, ignored); diff != "" {
		t.Error(diff)
	}
}
