package ai

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"assetferry/internal/outbound"
)

// NewTransport returns a transport with the long response timeout of models; config may be nil.
func NewTransport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: outbound.MaxHeader,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    64,
	}
}
