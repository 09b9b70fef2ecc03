package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"time"

	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"assetferry/internal/pattern"
	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// fail returns an error of the source or of one of its objects, without secrets.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = classify(op, err)
	hint := s.hint(op, err)
	if f, ok := errors.AsType[*remote.Failure](err); ok {
		f.Err = s.withoutSecrets(ctx, f.Err)
	}
	return &sources.Error{Op: op, Source: s.url.String(), Key: key, Err: err, Hint: hint}
}

// classify converts an error of the SDK. It returns other errors unchanged.
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
		f = &remote.Failure{Err: fmt.Errorf("invalid response: %w", innermost(err)), Kind: retry.Transient}
	case sent && (errors.Is(err, remote.ErrPlain) || remote.IsTrustError(err)):
		f = &remote.Failure{Err: innermost(err), Kind: retry.Fatal}
	case sent:
		f = &remote.Failure{Err: innermost(err), Kind: retry.Transient}
	default:
		return err
	}
	return f
}

// unaccepted are the codes for invalid credentials.
var unaccepted = []string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch",
	"RequestTimeTooSkewed", "RequestExpired", "InvalidSecurity", "NotSignedUp", "AccountProblem", "AuthorizationHeaderMalformed", "MissingSecurityHeader"}

// untagging are the statuses of services that refuse or do not support tags.
var untagging = []int{http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// refused returns the failure of an unsuccessful response.
func refused(op string, answer *smithyhttp.ResponseError, err error) *remote.Failure {
	f := &remote.Failure{Status: answer.HTTPStatusCode(), Code: codeOf(err), Kind: retry.Permanent}
	f.Err = errors.New(summary(f.Status, f.Code, err))
	_, throttling := awsretry.DefaultThrottleErrorCodes[f.Code]
	switch {
	case f.Status == http.StatusUnauthorized, slices.Contains(unaccepted, f.Code):
		f.Kind, f.Auth = retry.Fatal, true
	case op == opTags && slices.Contains(untagging, f.Status):
		f.Err = fmt.Errorf("%w; allow s3:GetObjectTagging, or remove --s3-tags", f.Err)
		f.Is = fs.ErrPermission
	case f.Code == "InvalidObjectState":
		f.Err = fmt.Errorf("%s (%w)", sources.Archived, f.Err)
	case f.Status == http.StatusForbidden && op == "list":
		f.Kind, f.Auth = retry.Fatal, true
	case f.Status == http.StatusForbidden:
		f.Is = fs.ErrPermission
	case f.Code == "NoSuchBucket" && op != "list": // the source is missing, not the object
		f.Kind = retry.Fatal
	case f.Status == http.StatusNotFound:
		f.Is = fs.ErrNotExist
	case f.Status == http.StatusMethodNotAllowed: // the version is a delete marker
		f.Is = fs.ErrNotExist
	case f.Status == http.StatusPreconditionFailed, f.Status == http.StatusRequestedRangeNotSatisfiable:
		f.Err = fmt.Errorf("%w (%w)", sources.ErrChanged, f.Err)
	case f.Status == http.StatusTooManyRequests, f.Status == http.StatusServiceUnavailable, throttling:
		f.Kind, f.Wait = retry.Throttled, retryAfter(err)
	case f.Status == http.StatusNotImplemented:
	case f.Status == http.StatusRequestTimeout, f.Code == "RequestTimeout", f.Status >= 500:
		f.Kind = retry.Transient
	case f.Status < 400: // a redirect to an unknown region
		f.Kind = retry.Fatal
	}
	return f
}

// summary returns a response in one line, without request IDs, so that equal errors have the same
// text.
func summary(status int, code string, err error) string {
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
	if !ok || e.ErrorCode() == "UnknownError" { // the SDK uses it for a response without a code
		return ""
	}
	return e.ErrorCode()
}

// innermost removes the wrappers of the SDK and of net/http from a network error: the names of
// calls and the whole URL.
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

// retryAfter returns the delay that a response asks for, or 0.
func retryAfter(err error) time.Duration {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.Response == nil {
		return 0
	}
	return retry.Asked(answer.Response.Header)
}

// signature matches a signature of the request that a service repeats.
var signature = pattern.Lazy(`(?i)(signature=)[0-9a-f]+`)

// withoutSecrets removes credentials from an error, because a service may repeat parts of them.
func (s *Source) withoutSecrets(ctx context.Context, err error) error {
	text := signature().ReplaceAllString(err.Error(), "$1…")
	if s.credentials != nil {
		if c, err := s.credentials.Retrieve(ctx); err == nil { // cached
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
