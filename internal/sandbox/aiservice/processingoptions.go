package aiservice

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"assetferry/internal/sandbox/standin"
)

// processingOptions are what Document Processing takes besides what it is about. That it takes
// capabilities and headers with which pictures are fetched is documented. How they are spelled is a
// guess: capabilities as messages have them, headers as the editor does. Options of another name
// are refused, as fields that are not known are everywhere.
type processingOptions struct {
	Capabilities     map[string]json.RawMessage `json:"capabilities"`
	ExtraHTTPHeaders []extraHeaders             `json:"extraHttpHeaders"`
}

// extraHeaders go along where something is fetched from a domain.
type extraHeaders struct {
	Domain  string            `json:"domain"`
	Headers map[string]string `json:"headers"`
}

func (o processingOptions) check(wrong *issues) {
	for name, value := range o.Capabilities {
		if name != "webSearch" && name != "reasoning" {
			wrong.add("capabilities."+name, "is not known")
		} else if v, ok := standin.DecodeObject(value); !ok || len(v) > 0 {
			wrong.add("capabilities."+name, "must be an empty object; omit it to disable the capability")
		}
	}
	for _, h := range o.ExtraHTTPHeaders {
		if hostOf(h.Domain) == "" || len(h.Headers) == 0 {
			wrong.add("extraHttpHeaders", "needs a domain and headers in each")
		}
	}
}

// searches is how many searches of the web are counted.
func (o processingOptions) searches() int {
	if _, on := o.Capabilities["webSearch"]; on {
		return 1
	}
	return 0
}

// usable refuses what a model cannot do.
func (o processingOptions) usable(m Model) error {
	if _, on := o.Capabilities["reasoning"]; on && !m.Reasoning {
		return malformed("capabilities.reasoning", "is not supported by %s", m.ID)
	}
	if o.searches() > 0 && !m.WebSearch {
		return malformed("capabilities.webSearch", "is not supported by %s", m.ID)
	}
	return nil
}

// headers are those that go along to a URL: to the host that a domain names, and to no other.
func (o processingOptions) headers(rawURL string) http.Header {
	all := http.Header{}
	for _, h := range o.ExtraHTTPHeaders {
		if host := hostOf(rawURL); host == "" || host != hostOf(h.Domain) {
			continue
		}
		for name, value := range h.Headers {
			all.Set(name, value)
		}
	}
	return all
}

// hostOf is the host, with its port, of a URL or of a domain.
func hostOf(rawURL string) string {
	if !strings.Contains(rawURL, "://") {
		rawURL = "https://" + rawURL
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
