package s3

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"net/http"

	"assetferry/sources"
	"assetferry/sources/remote"
)

// hint is the next step for a person; empty if the text of the error says it all.
func (s *Source) hint(op string, err error) string {
	_, noCredentials := errors.AsType[*credentialsError](err)
	_, disorder := errors.AsType[*disorderError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	f, failed := errors.AsType[*remote.Failure](err)
	switch {
	case noCredentials:
		return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; --s3-anonymous reads a public bucket without any"
	case disorder:
		return "the service does not list in the order of keys, or knows no EncodingType=url and has keys with control characters: copy the objects elsewhere first"
	case authority:
		return "if the certificate is from a private authority, name that with --ca-file"
	case errors.Is(err, remote.ErrPlain):
		return "use https:// in the endpoint, or --allow-http if the network in between is trusted"
	case errors.Is(err, sources.ErrChanged):
		return "list the source again"
	case failed && f.Status != 0:
		return s.hintOf(op, f)
	case failed:
		return "check the endpoint, the network and the proxy"
	case errors.Is(err, fs.ErrNotExist):
		return "check the prefix: an address names a folder, and everything whose key begins with it and a slash"
	}
	return ""
}

// hintOf is the next step after an answer that is no success.
func (s *Source) hintOf(op string, f *remote.Failure) string {
	switch f.Code {
	case "NoSuchBucket", "InvalidBucketName":
		return "check the bucket's name, and --endpoint if it is not at AWS"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired":
		return "the credentials have expired: get new ones (aws sso login, or whatever gave them) and run the same command again"
	case "InvalidAccessKeyId", "InvalidToken", "XAdminUserNotFound": // the last is of versitygw
		return "check AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN or the profile, and --endpoint if the bucket is not at AWS"
	case "SignatureDoesNotMatch":
		return "check AWS_SECRET_ACCESS_KEY, and that no proxy changes the requests"
	case "RequestTimeTooSkewed":
		return "set the clock of this machine: it is too far from the service's"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
		return "the bucket is in another region: set AWS_REGION"
	case "InvalidObjectState":
		return "restore the object first"
	}
	switch {
	case op == opTags && f.Is == fs.ErrPermission:
		return ""
	case f.Status >= 300 && f.Status < 400:
		return "the bucket is in another region: set AWS_REGION"
	case f.Status == http.StatusForbidden && s.credentials == nil:
		return "the bucket is not public: leave --s3-anonymous out and give credentials"
	case f.Status == http.StatusForbidden && op == "list" && s.payer == "":
		return "the credentials need s3:ListBucket for this bucket; if its owner has the requester pay, agree with --s3-requester-pays"
	case f.Status == http.StatusForbidden && op == "list":
		return "the credentials need s3:ListBucket for this bucket"
	case f.Status == http.StatusForbidden:
		return "the credentials need s3:GetObject for this object, and the right to use its key if it is encrypted with one"
	case f.Auth:
		return "check the credentials of the bucket"
	case f.Status == http.StatusNotFound && op == "list":
		return "check the bucket's name and --endpoint"
	case f.Status == http.StatusNotImplemented && op == "list":
		return "check that --endpoint is the base address of a service that speaks S3"
	}
	return ""
}
