package wordpress

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/outbound/hostiletest"
)

// TestMemoryOfHostileAnswers verifies that reading any answer of a site takes at most 32 MB.
func TestMemoryOfHostileAnswers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"one text":    hostiletest.Repeat(`[{"id":1,"title":"`, "x"),
		"empty items": hostiletest.Repeat(`[{}`, `,{}`),
		"tiny items":  hostiletest.Repeat(`[{"id":1}`, `,{"id":2}`),
		"null":        hostiletest.Repeat(`[null`, `,null`),
		"nested":      hostiletest.Repeat(`[{"id":`, `[`),
		"white space": hostiletest.Repeat(``, ` `),
		"braces":      hostiletest.Repeat(``, `{`),
		"no JSON":     hostiletest.Repeat(`<html>`, `<b>[x]`),
		"fitting": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `[{"id":1,"title":"`)
			for range maxBody>>10 - 1 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<10))
			}
			_, _ = io.WriteString(w, `"}]`)
		},
		"many objects": hostiletest.Repeat(`[{"id":1,"x":[{}`, `,{}`),
	} {
		t.Run(name, func(t *testing.T) {
			site := &api{prefix: "wp-json", announce: true}
			c := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/media") {
					answer(w, r)
					return
				}
				site.ServeHTTP(w, r)
			}), Options{})
			var err error
			peak := hostiletest.Peak(t, func() {
				for _, failed := range c.List(t.Context(), "/wp/v2/media", nil) {
					err = failed
				}
			})
			t.Logf("%s: %.1f MB: %.150v", name, float64(peak)/(1<<20), err)
			if err == nil && name != "fitting" || peak > hostiletest.Most {
				t.Errorf("%.1f MB over idle, %v", float64(peak)/(1<<20), err)
			}
		})
	}
}
