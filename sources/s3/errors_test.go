package s3_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/s3"
)

// TestRefusals verifies the error class of each refusal, that errors.Is finds it, and that it comes
// with a remedy.
func TestRefusals(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	type meaning struct {
		class retry.Class
		is    error
		auth  bool
		hint  string
	}
	fatal := func(hint string) meaning { return meaning{retry.Fatal, nil, true, hint} }
	for _, test := range []struct {
		status     int
		code       string
		list, open meaning
	}{
		{403, "AccessDenied", fatal("s3:ListBucket.*--s3-requester-pays"), meaning{retry.Permanent, fs.ErrPermission, false, "s3:GetObject"}},
		{403, "InvalidAccessKeyId", fatal("AWS_ACCESS_KEY_ID"), fatal("AWS_ACCESS_KEY_ID")},
		{403, "SignatureDoesNotMatch", fatal("AWS_SECRET_ACCESS_KEY"), fatal("AWS_SECRET_ACCESS_KEY")},
		{403, "RequestTimeTooSkewed", fatal("clock"), fatal("clock")},
		{400, "ExpiredToken", fatal("renew the credentials"), fatal("renew the credentials")},
		{401, "", fatal("check the credentials"), fatal("check the credentials")},
		{403, "InvalidObjectState", meaning{retry.Permanent, nil, false, "restore"}, meaning{retry.Permanent, nil, false, "restore"}},
		{404, "NoSuchBucket", meaning{retry.Permanent, fs.ErrNotExist, false, "bucket name"}, meaning{retry.Fatal, nil, false, "bucket name"}},
		{404, "XAdminUserNotFound", fatal("AWS_ACCESS_KEY_ID"), fatal("AWS_ACCESS_KEY_ID")},
		{400, "InvalidBucketName", meaning{retry.Permanent, nil, false, "bucket name"}, meaning{retry.Permanent, nil, false, "bucket name"}},
		{404, "NoSuchKey", meaning{retry.Permanent, fs.ErrNotExist, false, "bucket name"}, meaning{retry.Permanent, fs.ErrNotExist, false, ""}},
		{405, "MethodNotAllowed", meaning{retry.Permanent, fs.ErrNotExist, false, ""}, meaning{retry.Permanent, fs.ErrNotExist, false, ""}},
		{412, "PreconditionFailed", meaning{retry.Permanent, sources.ErrChanged, false, "again"}, meaning{retry.Permanent, sources.ErrChanged, false, "again"}},
		{416, "InvalidRange", meaning{retry.Permanent, sources.ErrChanged, false, "again"}, meaning{retry.Permanent, sources.ErrChanged, false, "again"}},
		{429, "", meaning{retry.Throttled, nil, false, ""}, meaning{retry.Throttled, nil, false, ""}},
		{503, "SlowDown", meaning{retry.Throttled, nil, false, ""}, meaning{retry.Throttled, nil, false, ""}},
		{400, "RequestTimeout", meaning{retry.Transient, nil, false, ""}, meaning{retry.Transient, nil, false, ""}},
		{500, "InternalError", meaning{retry.Transient, nil, false, ""}, meaning{retry.Transient, nil, false, ""}},
		{501, "NotImplemented", meaning{retry.Permanent, nil, false, "--endpoint.*S3-compatible"}, meaning{retry.Permanent, nil, false, ""}},
		{307, "TemporaryRedirect", meaning{retry.Fatal, nil, false, "AWS_REGION"}, meaning{retry.Fatal, nil, false, "AWS_REGION"}},
	} {
		t.Run(fmt.Sprint(test.status, test.code), func(t *testing.T) {
			b := newBucket(t, "")
			b.answerWith(refuse(test.status, test.code, "what the service says", "Retry-After", "30"))
			src := b.source()
			_, listing := list(t, src)
			_, opening := src.Open(t.Context(), sources.Object{Key: "a", Size: 1, VersionTag: "tag"}, 0)
			for op, c := range map[string]struct {
				err  error
				want meaning
			}{"list": {listing, test.list}, "open": {opening, test.open}} {
				e, ok := errors.AsType[*sources.Error](c.err)
				if !ok || e.Op != op || !strings.Contains(e.Error(), fmt.Sprint(test.status)) || !strings.Contains(e.Error(), test.code) {
					t.Fatalf("%s: %v", op, c.err)
				}
				class, delay := retry.Classify(c.err)
				if class != c.want.class || sources.IsAuth(c.err) != c.want.auth {
					t.Errorf("%s: class %s, auth %v: %v", op, class, sources.IsAuth(c.err), c.err)
				}
				for _, known := range []error{fs.ErrNotExist, fs.ErrPermission, sources.ErrChanged} {
					if errors.Is(c.err, known) != (c.want.is == known) {
						t.Errorf("%s: %v is or is not %v", op, c.err, known)
					}
				}
				if want := map[bool]time.Duration{true: 30 * time.Second}[class == retry.Throttled]; delay != want {
					t.Errorf("%s: delay %v, want %v", op, delay, want)
				}
				if (e.Hint == "") != (c.want.hint == "") || !match(c.want.hint, e.Hint) {
					t.Errorf("%s: hint %q, want %q", op, e.Hint, c.want.hint)
				}
			}
		})
	}
}

// match looks for parts of a text in their order.
func match(parts, text string) bool {
	for part := range strings.SplitSeq(parts, ".*") {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

func TestNoCredentials(t *testing.T) {
	b := newBucket(t, "")
	_, err := list(t, b.source(func(o *s3.Options) { o.Credentials = nil }))
	e, ok := errors.AsType[*sources.Error](err)
	if class, _ := retry.Classify(err); !ok || !sources.IsAuth(err) || class != retry.Fatal || !strings.Contains(e.Hint, "--s3-anonymous") {
		t.Errorf("got %v", err)
	}
	if n := len(b.asked()); n != 0 {
		t.Errorf("%d requests without credentials", n)
	}
}

// TestCredentialsOfTheEnvironment verifies that the usual environment variables suffice.
func TestCredentialsOfTheEnvironment(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Setenv("AWS_REGION", "eu-north-1")
	b := newBucket(t, "")
	_, err := list(t, b.source(func(o *s3.Options) { o.Credentials = nil }))
	must(t, err)
	if got := b.asked()[0].Header.Get("Authorization"); !strings.Contains(got, "Credential="+accessKey) || !strings.Contains(got, "/eu-north-1/s3/") {
		t.Errorf("signed with %s", got)
	}
}

func TestPrivateBucketReadAnonymously(t *testing.T) {
	b := newBucket(t, "")
	b.answerWith(refuse(403, "AccessDenied", "Access Denied"))
	_, err := list(t, b.source(func(o *s3.Options) { o.Anonymous = true }))
	if e, ok := errors.AsType[*sources.Error](err); !ok || !strings.Contains(e.Hint, "remove --s3-anonymous") {
		t.Errorf("got %v", err)
	}
}

// TestSecretsAreStruckOut verifies that secrets of a request do not appear in errors, even if the
// service repeats them.
func TestSecretsAreStruckOut(t *testing.T) {
	b := newBucket(t, "")
	b.answerWith(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Authorization") + " " + r.Header.Get("X-Amz-Security-Token") + " " + secretKey + "\nnext\x1b[31m line"
		if !r.URL.Query().Has("list-type") {
			said = strings.Join(strings.SplitAfter(sessionToken, "o"), " ") + ", " + base64.StdEncoding.EncodeToString([]byte(sessionToken)) + ", Signature=0123"
		}
		refuse(http.StatusForbidden, "AccessDenied", said)(w, r)
	})
	src := b.source()
	_, listing := list(t, src)
	_, opening := src.Open(t.Context(), sources.Object{Key: "a"}, 0)
	for _, err := range []error{listing, opening} {
		said := strings.ReplaceAll(err.Error(), "o ", "o")
		for _, secret := range []string{accessKey, secretKey, sessionToken, "\n", "\x1b", sessionToken[:8], base64.StdEncoding.EncodeToString([]byte(sessionToken))[:8]} {
			if strings.Contains(said, secret) {
				t.Errorf("%q holds %q", err, secret)
			}
		}
		if !strings.Contains(err.Error(), "Signature=…") {
			t.Errorf("%q does not say what the service said", err)
		}
	}
}

// TestRegions verifies that a bucket in another region is found, and that later requests go to that
// region directly.
func TestRegions(t *testing.T) {
	for name, refusal := range map[string]http.HandlerFunc{
		"301 that says where": refuse(301, "PermanentRedirect", "go there", "X-Amz-Bucket-Region", "eu-north-1"),
		"400 that does not":   refuse(400, "AuthorizationHeaderMalformed", "the region is wrong"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, "")
			must(t, b.put("a", []byte("content")))
			b.answer(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case r.Method == http.MethodHead && r.Header.Get("Authorization") == "":
						refuse(403, "", "", "X-Amz-Bucket-Region", "eu-north-1")(w, r)
					case !strings.Contains(r.Header.Get("Authorization"), "/eu-north-1/s3/"):
						refusal(w, r)
					default:
						next.ServeHTTP(w, r)
					}
				})
			})
			src := b.source()
			o := b.one(src)
			b.asked()
			r, err := src.Open(t.Context(), o, 0)
			must(t, err)
			must(t, r.Close())
			if n := len(b.asked()); n != 1 {
				t.Errorf("%d requests once the region is known", n)
			}
		})
	}
}

// TestTriesAgain verifies that a short failure is retried without an error, and that a lasting one
// is returned.
func TestTriesAgain(t *testing.T) {
	b := newBucket(t, "")
	must(t, b.put("a", []byte("content")))
	for name, bad := range map[string]http.HandlerFunc{
		"503":     refuse(503, "SlowDown", "slow down"),
		"cut off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut off late": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			w.Write([]byte("<"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			once := true
			b.answer(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if once {
						once = false
						bad(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			b.one(b.source())
		})
	}
}

// TestRetryAfter verifies that a retry waits as long as the service asks, unless that is too long:
// then the run retries the item later.
func TestRetryAfter(t *testing.T) {
	b := newBucket(t, "")
	b.answerWith(refuse(503, "SlowDown", "slow down", "Retry-After", "600"))
	began := time.Now()
	_, err := list(t, b.source())
	if class, delay := retry.Classify(err); class != retry.Throttled || delay != 10*time.Minute {
		t.Errorf("class %s, delay %v", class, delay)
	}
	if n := len(b.asked()); n != 1 || time.Since(began) > 5*time.Minute {
		t.Errorf("%d requests in %v", n, time.Since(began))
	}
}

// TestPlainHTTP verifies that plain HTTP to other machines is refused unless it is allowed,
// wherever the URL comes from.
func TestPlainHTTP(t *testing.T) {
	proxy := httptest.NewServer(refuse(403, "AccessDenied", "reached"))
	defer proxy.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://s3.example.com")
	t.Setenv("HTTP_PROXY", proxy.URL)
	b := newBucket(t, "")
	for allow, want := range map[bool]string{false: "plain HTTP is refused, except to this machine", true: ""} {
		_, err := list(t, b.source(func(o *s3.Options) { o.Endpoint, o.AllowHTTP = "", allow }))
		if err == nil || want != "" && !strings.Contains(err.Error(), want) || allow && strings.Contains(err.Error(), "refused: ") {
			t.Errorf("allowed %v: %v", allow, err)
		}
		e, ok := errors.AsType[*sources.Error](err)
		if !ok || !allow && !strings.Contains(e.Hint, "--allow-http") {
			t.Errorf("allowed %v: hint of %v", allow, err)
		}
	}
}
