package sourcehttp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestNetworks(t *testing.T) {
	for _, test := range []struct {
		private, never bool
		addresses      string
	}{
		{false, false, "8.8.8.8 1.1.1.1 93.184.216.34 172.15.0.1 172.32.0.1 192.167.1.1 100.63.0.1 100.128.0.1 2606:4700::1111 2a00:1450:4001:81b::200e 64:ff9b::808:808"},
		{true, false, "127.0.0.1 127.1.2.3 ::1 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fd12::1 fc00::1 100.64.0.1 198.18.0.1 ::ffff:10.0.0.1 ::ffff:127.0.0.1 64:ff9b::a00:1 2002:a00:1::"},
		{false, true, "0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 224.0.0.1 239.1.1.1 255.255.255.255 240.0.0.1 192.0.2.1 198.51.100.1 203.0.113.1 100.100.100.200 168.63.129.16 " +
			":: fe80::1 fe80::1%eth0 ff02::1 fec0::1 fd00:ec2::254 2001:db8::1 2001::1 100::1 64:ff9b:1::1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::"},
	} {
		for text := range strings.FieldsSeq(test.addresses) {
			ip := netip.MustParseAddr(text)
			if got := (networks{}).check(ip) != nil; got != (test.private || test.never) {
				t.Errorf("%s: refused is %v", ip, got)
			}
			if got := (networks{private: true}).check(ip) != nil; got != test.never {
				t.Errorf("%s, where private networks are allowed: refused is %v", ip, got)
			}
		}
	}
}

// Behind a proxy nobody looks at what names lead to, so what is no name must not pass for one.
func TestHostsThatAreAddresses(t *testing.T) {
	for text := range strings.FieldsSeq("127.0.0.1. 10.0.0.1. LOCALHOST. localhost a.localhost １２７.０.０.１ 127。0。0。1 ⓛocalhost") {
		if (networks{}).checkHost(text) == nil || (networks{private: true}).checkHost(text) != nil {
			t.Errorf("%s is not taken for what is private", text)
		}
	}
	for text := range strings.FieldsSeq("127.1 2130706433 0x7f000001 0X7F.1 0177.0.0.1 127.0.0.01 1.2.3.4.5 0x 169.254.169.254. １６９.２５４.１６９.２５４") {
		if (networks{private: true}).checkHost(text) == nil {
			t.Errorf("%s is taken for a name", text)
		}
	}
	for text := range strings.FieldsSeq("dam.example.com dam.example.com. 1.example.com 8.8.8.8 8.8.8.8. bücher.example 0xff.example a1 2606:4700::1111") {
		if err := (networks{}).checkHost(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// anywhere makes requests to the servers of a test.
func anywhere(t *testing.T, change ...func(*AnywhereOptions)) *Anywhere {
	t.Helper()
	o := AnywhereOptions{AllowPrivate: true}
	for _, c := range change {
		c(&o)
	}
	a := NewAnywhere(o)
	t.Cleanup(a.CloseIdleConnections)
	return a
}

func (a *Anywhere) get(t *testing.T, address string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.Do(r)
	if err == nil {
		answer.Body.Close()
	}
	return err
}

func TestPrivateNetworksAreRefused(t *testing.T) {
	s := newServer(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	a := anywhere(t, func(o *AnywhereOptions) { o.AllowPrivate, o.AllowHTTP = false, true })
	for _, address := range []string{s.String(), "http://localhost:" + s.Port(), "http://LOCALHOST.:" + s.Port(), "http://a.localhost:" + s.Port(), "http://[::ffff:127.0.0.1]:" + s.Port(), "http://0.0.0.0:" + s.Port()} {
		if _, refused := errors.AsType[*NetworkError](a.get(t, address)); !refused {
			t.Errorf("%s is not refused", address)
		}
	}
	// A name is looked at once it was looked up, whatever it looked like.
	c, err := (&abroad{}).dial(t.Context(), "tcp", "localhost:"+s.Port())
	if err == nil {
		c.Close()
	}
	if _, refused := errors.AsType[*NetworkError](err); !refused {
		t.Errorf("a name that leads here: %v", err)
	}
}

func TestRedirectsAreFollowed(t *testing.T) {
	var seen []http.Header
	other := newServer(t, func(w http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Clone()) })
	ours := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, other.String()+"/there", http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/private":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}
	})
	headers, err := ParseHeaders("X-Api-Key: hush-hush\nAuthorization: Bearer quiet-quiet")
	if err != nil {
		t.Fatal(err)
	}
	a := anywhere(t, func(o *AnywhereOptions) { o.Headers, o.Hosts, o.AllowHTTP = headers, []string{ours.Host}, true })
	if err := a.get(t, ours.String()+"/moved?signed=secret"); err != nil {
		t.Fatal(err)
	}
	if seen[0].Get("X-Api-Key") != "hush-hush" || seen[0].Get("Authorization") == "" {
		t.Errorf("the host of the headers got %v", seen[0])
	}
	if seen[1].Get("X-Api-Key") != "" || seen[1].Get("Authorization") != "" || seen[1].Get("Referer") != "" {
		t.Errorf("another host got %v", seen[1])
	}
	if seen = nil; !errors.Is(a.get(t, ours.String()+"/circle"), ErrRedirects) || len(seen) != maxRedirects+1 {
		t.Errorf("%d requests were sent in a circle", len(seen))
	}
	if _, refused := errors.AsType[*NetworkError](a.get(t, ours.String()+"/private")); !refused {
		t.Error("a redirect into a private network is followed")
	}
	if err := a.get(t, ours.String()+"/file"); err == nil {
		t.Error("a redirect to a file is followed")
	}
	if got := a.Redact("with quiet-quiet"); got != "with …" {
		t.Errorf("redacted: %s", got)
	}
}

func TestNoRedirectToPlainHTTP(t *testing.T) {
	plain := newServer(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	s := httptest.NewTLSServer(http.RedirectHandler(plain.String(), http.StatusFound))
	t.Cleanup(s.Close)
	a := anywhere(t, func(o *AnywhereOptions) { o.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig })
	if err := a.get(t, s.URL); !errors.Is(err, ErrDowngrade) {
		t.Errorf("got %v", err)
	}
}

func TestPlainHTTPAnywhere(t *testing.T) {
	if err := anywhere(t).get(t, "http://source.example.com/a.jpg"); !errors.Is(err, ErrPlain) {
		t.Errorf("got %v", err)
	}
}

func TestHostsOfHeaders(t *testing.T) {
	for hosts, want := range map[string]string{
		"a.example":     "https://a.example/x https://A.example:8443/x http://a.example/x",
		"A.EXAMPLE:443": "https://a.example/x",
		"b.example":     "",
	} {
		a := &abroad{options: AnywhereOptions{Hosts: []string{hosts}}}
		var got []string
		for _, address := range []string{"https://a.example/x", "https://A.example:8443/x", "http://a.example/x", "https://a.example.evil/x", "https://xa.example/x"} {
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			if a.isTold(u) {
				got = append(got, address)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: told are %q, want %s", hosts, got, want)
		}
	}
}
