package s3server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

const accessKey, secretKey = "s3server", "a-secret-of-these-tests"

// gateway is the server; a process can have only one. TestMain sets it.
var gateway struct {
	url  string
	root string // where its files are: ROOT/BUCKET/KEY
	repo string // the working directory changes once the server runs
}

func TestMain(m *testing.M) {
	code, err := runWithGateway(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runWithGateway(run func() int) (code int, err error) {
	for _, v := range os.Environ() { // of the user who runs the tests
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "ASSETFERRY_") && name != objectsVariable {
			os.Unsetenv(name)
		}
	}
	if gateway.repo, err = filepath.Abs("../../.."); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "s3server-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	gateway.root = filepath.Join(dir, "data")
	backend, err := newBackend(gateway.root, filepath.Join(dir, "meta"), filepath.Join(dir, "versions"))
	if err != nil {
		return 0, err
	}
	rawURL, err := freeHostPort()
	if err != nil {
		return 0, err
	}
	gateway.url = "http://" + rawURL
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
			RootUserAccess: accessKey, RootUserSecret: secretKey, Ports: []string{rawURL}, HealthPath: "/healthz",
			Quiet: true, KeepAlive: true, MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10000,
		})
	}()
	if err := awaitGateway(ended); err != nil {
		cancel()
		return 0, err
	}
	code = run()
	cancel()
	return code, <-ended
}

// newBackend stores objects as files, former versions in a directory of their own, and metadata in
// extended attributes or, if there are none, in files beside them.
func newBackend(root, beside, versions string) (*posix.Posix, error) {
	for _, dir := range []string{root, beside, versions} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	o := posix.PosixOpts{CopyObjectThreshold: 5 << 30, VersioningDir: versions}
	var attributes meta.XattrMeta
	if attributes.Test(root) == nil {
		return posix.New(root, attributes, o)
	}
	sidecar, err := meta.NewSideCar(beside)
	if err != nil {
		return nil, err
	}
	o.SideCarDir = beside
	return posix.New(root, sidecar, o)
}

func freeHostPort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// awaitGateway waits until the server answers.
func awaitGateway(ended <-chan error) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	late := time.After(time.Minute)
	for {
		if resp, err := http.Get(gateway.url + "/healthz"); err == nil {
			return resp.Body.Close()
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the S3 server ended: %w", err)
		case <-late:
			return errors.New("the S3 server does not answer")
		case <-again.C:
		}
	}
}

func staticCredentials(secret string) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(accessKey, secret, "")
}

// A bucket is one at the server, filled only through the SDK.
type bucket struct {
	name   string
	client *s3.Client
}

var buckets atomic.Int64

func newBucket(tb testing.TB) *bucket {
	tb.Helper()
	b := &bucket{fmt.Sprintf("bucket-%d", buckets.Add(1)), s3.New(s3.Options{
		BaseEndpoint: &gateway.url, UsePathStyle: true, Region: "us-east-1", Credentials: staticCredentials(secretKey),
	})}
	_, err := b.client.CreateBucket(tb.Context(), &s3.CreateBucketInput{Bucket: &b.name})
	must(tb, err)
	tb.Cleanup(func() { must(tb, b.vanish()) })
	return b
}

func (b *bucket) put(ctx context.Context, key string, content []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(content)})
	return err
}

// keepVersions sets whether the bucket keeps versions from now on.
func (b *bucket) keepVersions(ctx context.Context, status types.BucketVersioningStatus) error {
	_, err := b.client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: &b.name, VersioningConfiguration: &types.VersioningConfiguration{Status: status}})
	return err
}

// dropVersion deletes one version of an object.
func (b *bucket) dropVersion(ctx context.Context, key, version string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key, VersionId: &version})
	return err
}

// describe stores an object with metadata.
func (b *bucket) describe(ctx context.Context, key, contentType string, metadata map[string]string, tags string) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: &key, Body: strings.NewReader("content"), ContentType: &contentType, Metadata: metadata, Tagging: &tags,
	})
	return err
}

func (b *bucket) remove(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key})
	return err
}

// dir returns where the server has the bucket's files.
func (b *bucket) dir() string { return filepath.Join(gateway.root, b.name) }

// vanish deletes the bucket's files without the server's knowledge.
func (b *bucket) vanish() error { return os.RemoveAll(b.dir()) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
