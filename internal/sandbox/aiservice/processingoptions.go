package aiservice

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"assetferry/internal/sandbox/standin"
)

// processingOptions are the options of Document Processing. It is documented that they include
// capabilities and headers for fetching images. Their names are guesses: capabilities as in
// messages, headers as in the editor. Other options are refused, like all unknown fields.
type processingOptions struct {
	Capabilities     map[string]json.RawMessage `json:"capabilities"`
	ExtraHTTPHeaders []extraHeaders             `json:"extraHttpHeaders"`
}

// extraHeaders are sent with requests to a domain.
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

// searches returns the number of web searches to count.
func (o processingOptions) searches() int {
	if _, on := o.Capabilities["webSearch"]; on {
		return 1
	}
	return 0
}

// usable refuses options that a model does not support.
func (o processingOptions) usable(m Model) error {
	if _, on := o.Capabilities["reasoning"]; on && !m.Reasoning {
		return malformed("capabilities.reasoning", "is not supported by %s", m.ID)
	}
	if o.searches() > 0 && !m.WebSearch {
		return malformed("capabilities.webSearch", "is not supported by %s", m.ID)
	}
	return nil
}

// headers returns the headers for a URL: those for its host, and no others.
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

// hostOf returns the host and port of a URL or a domain.
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
