package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// fail makes an error about the source or one of its objects. It holds no secrets.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = classify(op, err)
	hint := s.hint(op, err)
	if f, ok := errors.AsType[*remote.Failure](err); ok {
		f.Err = s.withoutSecrets(ctx, f.Err)
	}
	return &sources.Error{Op: op, Source: s.address.String(), Key: key, Err: err, Hint: hint}
}

// classify says what an error of the SDK means for an operation. Others come back as
// they are.
func classify(op string, err error) error {
	var f *remote.Failure
	answer, answered := errors.AsType[*smithyhttp.ResponseError](err)
	_, unreadable := errors.AsType[*smithy.DeserializationError](err)
	_, sent := errors.AsType[*smithy.OperationError](err)
	noCredentials, unsigned := errors.AsType[*credentialsError](err)
	switch {
	case unsigned:
		f = &remote.Failure{Err: noCredentials, Kind: retry.Fatal, Auth: true}
	case answered && !unreadable && answer.HTTPStatusCode() >= 300:
		f = refused(op, answer, err)
	case unreadable:
		f = &remote.Failure{Err: fmt.Errorf("the answer cannot be read: %w", innermost(err)), Kind: retry.Transient}
	case sent && (errors.Is(err, remote.ErrPlain) || remote.IsTrustError(err)):
		f = &remote.Failure{Err: innermost(err), Kind: retry.Fatal}
	case sent:
		f = &remote.Failure{Err: innermost(err), Kind: retry.Transient}
	default:
		return err
	}
	return f
}

// codes that say that the credentials are not accepted, whatever they may do.
var unaccepted = []string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch",
	"RequestTimeTooSkewed", "RequestExpired", "InvalidSecurity", "NotSignedUp", "AccountProblem", "AuthorizationHeaderMalformed", "MissingSecurityHeader"}

// untagging are the answers of those who do not tell tags, or have none at all.
var untagging = []int{http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// refused is an answer that is no success.
func refused(op string, answer *smithyhttp.ResponseError, err error) *remote.Failure {
	f := &remote.Failure{Status: answer.HTTPStatusCode(), Code: codeOf(err), Kind: retry.Permanent}
	f.Err = errors.New(told(f.Status, f.Code, err))
	_, throttling := awsretry.DefaultThrottleErrorCodes[f.Code]
	switch {
	case f.Status == http.StatusUnauthorized, slices.Contains(unaccepted, f.Code):
		f.Kind, f.Auth = retry.Fatal, true
	case op == opTags && slices.Contains(untagging, f.Status):
		f.Err = fmt.Errorf("%w; allow s3:GetObjectTagging, or leave out --s3-tags", f.Err)
		f.Is = fs.ErrPermission
	case f.Code == "InvalidObjectState":
		f.Err = fmt.Errorf("%s (%w)", sources.Archived, f.Err)
	case f.Status == http.StatusForbidden && op == "list":
		f.Kind, f.Auth = retry.Fatal, true
	case f.Status == http.StatusForbidden:
		f.Is = fs.ErrPermission
	case f.Code == "NoSuchBucket" && op != "list": // no item is to blame
		f.Kind = retry.Fatal
	case f.Status == http.StatusNotFound:
		f.Is = fs.ErrNotExist
	case f.Status == http.StatusMethodNotAllowed: // that version only marks a deletion
		f.Is = fs.ErrNotExist
	case f.Status == http.StatusPreconditionFailed, f.Status == http.StatusRequestedRangeNotSatisfiable:
		f.Err = fmt.Errorf("%w (%w)", sources.ErrChanged, f.Err)
	case f.Status == http.StatusTooManyRequests, f.Status == http.StatusServiceUnavailable, throttling:
		f.Kind, f.Wait = retry.Throttled, retryAfter(err)
	case f.Status == http.StatusNotImplemented:
	case f.Status == http.StatusRequestTimeout, f.Code == "RequestTimeout", f.Status >= 500:
		f.Kind = retry.Transient
	case f.Status < 400: // and where the region is could not be found out
		f.Kind = retry.Fatal
	}
	return f
}

// told is an answer in one line. It leaves out what differs each time, such as the
// ID of the request, so that equal troubles read alike.
func told(status int, code string, err error) string {
	text := fmt.Sprintf("%d %s", status, cmp.Or(code, http.StatusText(status)))
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		if message := remote.OneLine(e.ErrorMessage()); message != "" && message != code {
			text += ": " + message
		}
	}
	return text
}

func codeOf(err error) string {
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok || e.ErrorCode() == "UnknownError" { // the SDK's word for an answer without one
		return ""
	}
	return e.ErrorCode()
}

// innermost takes off what the SDK and net/http put around an error of the network:
// the names of calls and the whole address.
func innermost(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*smithy.OperationError](err); ok {
		return e.Err
	}
	return err
}

// retryAfter is how long an answer asks to wait, 0 if it does not.
func retryAfter(err error) time.Duration {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.Response == nil {
		return 0
	}
	return retry.Asked(answer.Response.Header)
}

// What a service repeats of a request's signature, if it does.
var signature = regexp.MustCompile(`(?i)(signature=)[0-9a-f]+`)

// withoutSecrets strikes out of an error what opens the bucket: a service may repeat
// what it was sent, be it in pieces.
func (s *Source) withoutSecrets(ctx context.Context, err error) error {
	text := signature.ReplaceAllString(err.Error(), "$1…")
	if s.credentials != nil {
		if c, err := s.credentials.Retrieve(ctx); err == nil { // from the cache
			s.redactor.Key(c.SecretAccessKey)
			s.redactor.Key(c.AccessKeyID)
			s.redactor.Token(c.SessionToken)
		}
	}
	text = s.redactor.Text(text)
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
