package s3_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/s3"
)

// TestPrivateAuthority verifies that a private certificate authority is trusted if it is
// configured, and that the error suggests it otherwise.
func TestPrivateAuthority(t *testing.T) {
	b := newBucket(t, "")
	must(t, b.put("a", []byte("content")))
	secure := httptest.NewUnstartedServer(b.server.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of a handshake that is to fail
	secure.StartTLS()
	defer secure.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	b.one(b.source(func(o *s3.Options) { o.Endpoint, o.TLS = secure.URL, &tls.Config{RootCAs: pool} }))

	_, err := list(t, b.source(func(o *s3.Options) { o.Endpoint = secure.URL }))
	e, ok := errors.AsType[*sources.Error](err)
	if class, _ := retry.Classify(err); !ok || class != retry.Fatal || !strings.Contains(e.Hint, "--ca-file") {
		t.Errorf("class %s: %v", class, err)
	}
}
