package s3

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// both returns the requests of the SDK and of the template for an object.
func both(t *testing.T, cfg aws.Config, endpoint, bucket string, provider aws.CredentialsProvider, in *s3.GetObjectInput) (sdk, ours *http.Request) {
	t.Helper()
	var sent requestRecorder
	s := &Source{url: URL{Bucket: bucket}, credentials: provider, payer: in.RequestPayer, client: newClient(cfg, endpoint, provider, &sent)}
	in.Bucket = &bucket
	_, _ = s.client.GetObject(t.Context(), in, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} }) // the recorder fails
	sdk = sent.request
	made := s.templateOf(t.Context())
	if !made.usable() {
		return sdk, nil
	}
	ours, err := made.request(t.Context(), provider, in)
	if err != nil {
		t.Fatal(err)
	}
	return sdk, ours
}

// without returns the headers that are the same in each request for an object.
func without(h http.Header) http.Header {
	h = maps.Clone(h)
	for _, name := range []string{"Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "X-Amz-Date", "Authorization"} {
		h.Del(name)
	}
	return h
}

// signedHeaders returns the names of the signed headers of a request that both requests have.
func signedHeaders(r *http.Request) []string {
	_, after, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ := strings.Cut(after, ",")
	return slices.DeleteFunc(strings.Split(names, ";"), func(name string) bool { return strings.HasPrefix(name, "amz-sdk-") })
}

var keys = []string{"a.jpg", "key", "a b+c%20?d#e/../ü//x", "/a", "a//", "./a/.", "日本/é.png", "a&b=c;d@e:f,g$h!i'j(k)l*m~n_o-p.q", "%2F", "\\\"<>^`{|}"}

// TestRequestsAreThoseOfTheSDK verifies that a request made from a template is the request of the
// SDK, but for its own headers.
func TestRequestsAreThoseOfTheSDK(t *testing.T) {
	session := credentials.NewStaticCredentialsProvider("AKIATEST", "secret", "session")
	noChecks := aws.Config{Region: "eu-central-1", ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired}
	checks := aws.Config{Region: "eu-central-1", ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported}
	for name, test := range map[string]struct {
		cfg      aws.Config
		endpoint string
		bucket   string
		provider aws.CredentialsProvider
		in       s3.GetObjectInput
	}{
		"host name":      {cfg: checks, bucket: "photos", provider: session},
		"path":           {cfg: checks, bucket: "my.photos", provider: session},
		"endpoint":       {cfg: noChecks, endpoint: "https://minio.example.com:9000/base", bucket: "photos", provider: session},
		"anonymous":      {cfg: checks, bucket: "photos"},
		"requester pays": {cfg: checks, bucket: "photos", provider: session, in: s3.GetObjectInput{RequestPayer: types.RequestPayerRequester}},
		"conditions": {cfg: checks, bucket: "photos", provider: session, in: s3.GetObjectInput{
			IfMatch: aws.String(`"tag"`), Range: aws.String("bytes=5-"), VersionId: aws.String("a+b/c=&d")}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range keys {
				in := test.in
				in.Key = &key
				sdk, ours := both(t, test.cfg, test.endpoint, test.bucket, test.provider, &in)
				compareRequests(t, key, sdk, ours)
			}
		})
	}
}

func compareRequests(t *testing.T, key string, sdk, ours *http.Request) {
	t.Helper()
	if ours == nil {
		t.Fatalf("%q is left to the SDK", key)
	}
	if sdk.Method != ours.Method || sdk.URL.Scheme != ours.URL.Scheme || sdk.URL.Host != ours.URL.Host || sdk.URL.RequestURI() != ours.URL.RequestURI() {
		t.Errorf("%q: asked for %s, want %s", key, ours.URL, sdk.URL)
	}
	if got, want := without(ours.Header), without(sdk.Header); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q: headers %v, want %v", key, got, want)
	}
	if got, want := signedHeaders(ours), signedHeaders(sdk); !slices.Equal(got, want) {
		t.Errorf("%q: signed are %v, want %v", key, got, want)
	}
}

func FuzzRequestsAreThoseOfTheSDK(f *testing.F) {
	for _, key := range keys {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if key == "" {
			t.Skip("no key is empty")
		}
		sdk, ours := both(t, aws.Config{Region: "eu-central-1"}, "", "photos", nil, &s3.GetObjectInput{Key: &key})
		compareRequests(t, key, sdk, ours)
	})
}

// TestUnusualRequestsAreLeftToTheSDK verifies that only the usual signature is made here.
func TestUnusualRequestsAreLeftToTheSDK(t *testing.T) {
	request := func(rawURL, authorization string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, rawURL, nil)
		r.Header.Set("Authorization", authorization)
		return r
	}
	const usual = "AWS4-HMAC-SHA256 Credential=A/20260102/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=0"
	const rawURL = "https://photos.example/key?x-id=GetObject"
	for name, test := range map[string]struct {
		r      *http.Request
		signed bool
		want   string
	}{
		"usual":             {request(rawURL, usual), true, "https://photos.example/"},
		"directory bucket":  {request(rawURL, strings.Replace(usual, "/s3/", "/s3express/", 1)), true, ""},
		"another region":    {request(rawURL, strings.Replace(usual, "west-1", "west-2", 1)), true, ""},
		"several regions":   {request(rawURL, strings.Replace(usual, "HMAC", "ECDSA-P256", 1)), true, ""},
		"not signed":        {request(rawURL, ""), true, ""},
		"signed for nobody": {request(rawURL, usual), false, ""},
		"another query":     {request(rawURL+"&a=b", usual), true, ""},
		"another path":      {request("https://photos.example/name?x-id=GetObject", usual), true, ""},
	} {
		if got := templateFrom(test.r, "eu-west-1", test.signed).base; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestRefusedTemplate verifies that the SDK makes all requests for content once a service has
// accepted one that it refused in the form of the template, such as with a clock that is wrong.
func TestRefusedTemplate(t *testing.T) {
	refused, accepted := 0, 0
	s := sourceOf(func(r *http.Request) *http.Response {
		if r.Header.Get("Amz-Sdk-Invocation-Id") == "" {
			refused++
			return answer(http.StatusForbidden, io.NopCloser(strings.NewReader("<Error><Code>SlowDown</Code></Error>")))
		}
		accepted++
		return answer(http.StatusOK, io.NopCloser(strings.NewReader("content")))
	})
	for range 3 {
		out, err := s.getObject(t.Context(), &s3.GetObjectInput{Bucket: &s.url.Bucket, Key: aws.String("a")})
		if err != nil {
			t.Fatal(err)
		}
		out.Body.Close()
	}
	if refused != 1 || accepted != 3 {
		t.Errorf("%d requests were refused, want 1, and %d accepted, want 3", refused, accepted)
	}
}

// TestOutputsAreThoseOfTheSDK verifies that the SDK and this package understand an answer alike.
func TestOutputsAreThoseOfTheSDK(t *testing.T) {
	sum := crc64.New(crc64.MakeTable(crc64NVME))
	sum.Write([]byte("content"))
	right := base64.StdEncoding.EncodeToString(sum.Sum(nil))
	for name, headers := range map[string][]string{
		"none": {},
		"all": {"Etag", `"tag"`, "Content-Type", "image/png", "Content-Length", "7", "Content-Range", "bytes 0-6/7", "X-Amz-Version-Id", "v",
			"Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT", "X-Amz-Meta-Some-Name", "Some Value", "X-Amz-Meta-", "no name"},
		"right checksum":      {"X-Amz-Checksum-Crc64nvme", right},
		"wrong checksum":      {"X-Amz-Checksum-Crc64nvme", right[1:] + "A"},
		"several checksums":   {"X-Amz-Checksum-Crc64nvme", right, "X-Amz-Checksum-Sha1", "AAAA"},
		"checksum of parts":   {"X-Amz-Checksum-Crc32", "AAAAAA==-2"},
		"wrong CRC32":         {"X-Amz-Checksum-Crc32", "AAAAAA=="},
		"wrong CRC32C":        {"X-Amz-Checksum-Crc32c", "AAAAAA=="},
		"wrong SHA-256":       {"X-Amz-Checksum-Sha256", "AAAA"},
		"wrong SHA-512":       {"X-Amz-Checksum-Sha512", "AAAA"},
		"unknown checksum":    {"X-Amz-Checksum-Xxhash3", "AAAA"},
		"time that is none":   {"Last-Modified", "yesterday"},
		"length that is none": {"Content-Length", "long"},
	} {
		s := sourceOf(func(*http.Request) *http.Response {
			return answer(http.StatusOK, io.NopCloser(strings.NewReader("content")), headers...)
		})
		in := &s3.GetObjectInput{Bucket: &s.url.Bucket, Key: aws.String("a")}
		read := func(out *s3.GetObjectOutput, err error) (*s3.GetObjectOutput, string, error) {
			if err != nil {
				return nil, "", err
			}
			text, err := io.ReadAll(out.Body)
			return out, string(text), err
		}
		once := func(o *s3.Options) { o.Retryer = aws.NopRetryer{} }
		want, wantText, wantErr := read(s.client.GetObject(t.Context(), in, once))
		got, text, err := read(s.getObject(t.Context(), in, once))
		if text != wantText || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: %q and %v, want %q and %v", name, text, err, wantText, wantErr)
		}
		if got != nil && want != nil && !bytes.Equal(fields(got), fields(want)) {
			t.Errorf("%s: %s, want %s", name, fields(got), fields(want))
		}
	}
}

// fields returns what a reader uses of an output.
func fields(o *s3.GetObjectOutput) []byte {
	text, _ := json.Marshal([]any{o.ETag, o.ContentType, o.ContentLength, o.ContentRange, o.VersionId, o.LastModified, o.Metadata}) // it has no cycles
	return text
}
