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
	"assetferry/internal/sourcehttp"
	"assetferry/sources"
)

// A failure is an error with what it means for the next step.
type failure struct {
	status int    // of the answer; 0 if there is none
	code   string // that S3 gives it; may be empty
	err    error
	is     error // what callers ask for
	class  retry.Class
	auth   bool
	delay  time.Duration
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() []error {
	if f.is == nil {
		return []error{f.err}
	}
	return []error{f.err, f.is}
}

// Class implements retry.Classified.
func (f *failure) Class() retry.Class { return f.class }

// Delay is how long the service asks to wait, 0 if it does not.
func (f *failure) Delay() time.Duration { return f.delay }

// IsAuth reports whether the trouble is with the credentials, or with what they allow.
func (f *failure) IsAuth() bool { return f.auth }

// fail makes an error about the source or one of its objects. It holds no secrets.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = classify(op, err)
	hint := s.hint(op, err)
	if f, ok := errors.AsType[*failure](err); ok {
		f.err = s.withoutSecrets(ctx, f.err)
	}
	return &sources.Error{Op: op, Source: s.address.String(), Key: key, Err: err, Hint: hint}
}

// classify says what an error of the SDK means for an operation. Others come back as
// they are.
func classify(op string, err error) error {
	var f *failure
	answer, answered := errors.AsType[*smithyhttp.ResponseError](err)
	_, unreadable := errors.AsType[*smithy.DeserializationError](err)
	_, sent := errors.AsType[*smithy.OperationError](err)
	noCredentials, unsigned := errors.AsType[*credentialsError](err)
	switch {
	case unsigned:
		f = &failure{err: noCredentials, class: retry.Fatal, auth: true}
	case answered && !unreadable && answer.HTTPStatusCode() >= 300:
		f = refused(op, answer, err)
	case unreadable:
		f = &failure{err: fmt.Errorf("the answer cannot be read: %w", innermost(err)), class: retry.Transient}
	case sent && (errors.Is(err, sourcehttp.ErrPlain) || sourcehttp.IsTrustError(err)):
		f = &failure{err: innermost(err), class: retry.Fatal}
	case sent:
		f = &failure{err: innermost(err), class: retry.Transient}
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
func refused(op string, answer *smithyhttp.ResponseError, err error) *failure {
	f := &failure{status: answer.HTTPStatusCode(), code: codeOf(err), class: retry.Permanent}
	f.err = errors.New(told(f.status, f.code, err))
	_, throttling := awsretry.DefaultThrottleErrorCodes[f.code]
	switch {
	case f.status == http.StatusUnauthorized, slices.Contains(unaccepted, f.code):
		f.class, f.auth = retry.Fatal, true
	case op == opTags && slices.Contains(untagging, f.status):
		f.err = fmt.Errorf("%w; allow s3:GetObjectTagging, or leave out --s3-tags", f.err)
		f.is = fs.ErrPermission
	case f.code == "InvalidObjectState":
		f.err = fmt.Errorf("%s (%w)", sources.Archived, f.err)
	case f.status == http.StatusForbidden && op == "list":
		f.class, f.auth = retry.Fatal, true
	case f.status == http.StatusForbidden:
		f.is = fs.ErrPermission
	case f.code == "NoSuchBucket" && op != "list": // no item is to blame
		f.class = retry.Fatal
	case f.status == http.StatusNotFound:
		f.is = fs.ErrNotExist
	case f.status == http.StatusMethodNotAllowed: // that version only marks a deletion
		f.is = fs.ErrNotExist
	case f.status == http.StatusPreconditionFailed, f.status == http.StatusRequestedRangeNotSatisfiable:
		f.err = fmt.Errorf("%w (%w)", sources.ErrChanged, f.err)
	case f.status == http.StatusTooManyRequests, f.status == http.StatusServiceUnavailable, throttling:
		f.class, f.delay = retry.Throttled, retryAfter(err)
	case f.status == http.StatusNotImplemented:
	case f.status == http.StatusRequestTimeout, f.code == "RequestTimeout", f.status >= 500:
		f.class = retry.Transient
	case f.status < 400: // and where the region is could not be found out
		f.class = retry.Fatal
	}
	return f
}

// told is an answer in one line. It leaves out what differs each time, such as the
// ID of the request, so that equal troubles read alike.
func told(status int, code string, err error) string {
	text := fmt.Sprintf("%d %s", status, cmp.Or(code, http.StatusText(status)))
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		if message := sourcehttp.OneLine(e.ErrorMessage()); message != "" && message != code {
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
