package s3

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"net/http"

	"assetferry/sources"
	"assetferry/sources/remote"
)

// hint returns the next step for the user, or "" if the error is enough.
func (s *Source) hint(op string, err error) string {
	_, noCredentials := errors.AsType[*credentialsError](err)
	_, disorder := errors.AsType[*disorderError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	f, failed := errors.AsType[*remote.Failure](err)
	switch {
	case noCredentials:
		return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket, add --s3-anonymous"
	case disorder:
		return "copy the objects to another service: this one does not list in key order, or does not support EncodingType=url for keys with control characters"
	case authority:
		return "if a private authority signed the certificate, add --ca-file FILE"
	case errors.Is(err, remote.ErrPlain):
		return "use https:// in the endpoint, or add --allow-http if you trust the network"
	case errors.Is(err, sources.ErrChanged):
		return "run the same command again"
	case failed && f.Status != 0:
		return s.hintOf(op, f)
	case failed:
		return "check the endpoint, the network and the proxy"
	case errors.Is(err, fs.ErrNotExist):
		return "check the prefix: it must be a whole folder name, because a slash is added to it"
	}
	return ""
}

// hintOf returns the next step after an unsuccessful response.
func (s *Source) hintOf(op string, f *remote.Failure) string {
	switch f.Code {
	case "NoSuchBucket", "InvalidBucketName":
		return "check the bucket name; for a service other than AWS, check --endpoint"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired":
		return "renew the credentials (for example, aws sso login) and run the same command again"
	case "InvalidAccessKeyId", "InvalidToken", "XAdminUserNotFound": // the last one is from versitygw
		return "check AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN or the profile; for a service other than AWS, check --endpoint"
	case "SignatureDoesNotMatch":
		return "check AWS_SECRET_ACCESS_KEY, and that no proxy changes the requests"
	case "RequestTimeTooSkewed":
		return "set the clock of this machine: it differs too much from that of the service"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
		return "set AWS_REGION to the region of the bucket"
	case "InvalidObjectState":
		return "restore the object, and run the same command again"
	}
	switch {
	case op == opTags && f.Is == fs.ErrPermission:
		return ""
	case f.Status >= 300 && f.Status < 400:
		return "set AWS_REGION to the region of the bucket"
	case f.Status == http.StatusForbidden && s.credentials == nil:
		return "the bucket is not public: remove --s3-anonymous and set credentials"
	case f.Status == http.StatusForbidden && op == "list" && s.payer == "":
		return "allow s3:ListBucket for this bucket; if the requester pays, add --s3-requester-pays"
	case f.Status == http.StatusForbidden && op == "list":
		return "allow s3:ListBucket for this bucket"
	case f.Status == http.StatusForbidden:
		return "allow s3:GetObject for this object, and the use of its encryption key if it has one"
	case f.Auth:
		return "check the credentials of the bucket"
	case f.Status == http.StatusNotFound && op == "list":
		return "check the bucket name and --endpoint"
	case f.Status == http.StatusNotImplemented && op == "list":
		return "check that --endpoint is the base URL of an S3-compatible service"
	}
	return ""
}
