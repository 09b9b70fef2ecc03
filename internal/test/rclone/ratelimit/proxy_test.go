//go:build rclone

package ratelimit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// A proxy is the way to a service whose host cannot be set: it connects that host to a handler here,
// and no other host.
type proxy struct {
	url         string
	certificate []byte // PEM of the authority
}

func newProxy(t *testing.T, host string, handler http.Handler) proxy {
	t.Helper()
	key, der := certificate(t, host)
	service := httptest.NewUnstartedServer(handler)
	service.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	service.StartTLS()
	t.Cleanup(service.Close)
	tunnels := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != host+":443" {
			t.Errorf("%s %s reached the proxy", r.Method, r.Host)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		tunnel(t, w, service.Listener.Addr().String())
	}))
	t.Cleanup(tunnels.Close)
	return proxy{tunnels.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// certificate returns a certificate of a host that is its own authority.
func certificate(t *testing.T, host string) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	must(t, err)
	return key, der
}

// tunnel connects the client of a request with a service here until either closes the connection.
func tunnel(t *testing.T, w http.ResponseWriter, addr string) {
	service, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(service, client); _ = service.Close() })
	both.Go(func() { _, _ = io.Copy(client, service); _ = client.Close() })
	both.Wait()
}
