package rclone

import (
	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// ofObject returns an error of a single object. A storage that refuses one object accepts the
// credentials, unless the error is fatal.
func ofObject(err error) error {
	if class, wait := retry.Classify(err); class == retry.Permanent {
		return &remote.Failure{Err: err, Kind: class, Wait: wait}
	}
	return err
}
