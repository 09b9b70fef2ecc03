package assets

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/outbound/hostiletest"
	"assetferry/internal/retry"
)

// The test verifies that reading any answer of a service takes at most 32 MB.
func TestMemoryOfHostileAnswers(t *testing.T) {
	asset := func(c *Client) error { _, err := c.Asset(t.Context(), "x"); return err }
	list := func(c *Client) error {
		for _, err := range c.List(t.Context(), ListOptions{CategoryID: "c"}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	folders := func(c *Client) error { _, err := c.Folders(t.Context()); return err }
	fit := func(weight outbound.Weight, begin, again, end string) http.HandlerFunc {
		return hostiletest.Fitting(weight, 0, begin, again, end)
	}
	one := func(begin, again, end string) http.HandlerFunc {
		return hostiletest.Fitting(outbound.Untyped, 2<<20, begin, again, end)
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*Client) error
	}{
		"one string":         {hostiletest.Repeat(`{"id":"`, "x"), asset},
		"one string, listed": {hostiletest.Repeat(`{"items":[{"id":"`, "x"), list},
		"tiny assets":        {hostiletest.Repeat(`[{"id":"a"}`, `,{"id":"b"}`), list},
		"empty assets":       {hostiletest.Repeat(`{"items":[{}`, `,{}`), list},
		"empty folders":      {hostiletest.Repeat(`[{}`, `,{}`), folders},
		"null assets":        {hostiletest.Repeat(`{"items":[null`, `,null`), list},
		"null folders":       {hostiletest.Repeat(`[null`, `,null`), folders},
		"null in folders":    {hostiletest.Repeat(`[{"id":"a","folders":[null`, `,null`), folders},
		"fitting null":       {one(`{"id":"a","folders":[null`, `,null`, `]}`), func(c *Client) error { _, err := c.Folder(t.Context(), "a", 1); return err }},
		"fitting nulls":      {hostiletest.Fitting(folderWeight, 2<<20, `[{"id":"a","folders":[null`, `,null`, `]}]`), folders},
		"folders in one":     {hostiletest.Repeat(`[{"id":"a","folders":[{}`, `,{}`), folders},
		"tags":               {hostiletest.Repeat(`{"items":[{"id":"a","tags":[""`, `,""`), list},
		"tags of many":       {hostiletest.Repeat(`[{"id":"a"}`, `,{"id":"b","tags":["","","","","","","","","","","","","","",""]}`), list},
		"attributes":         {hostiletest.Repeat(`{"items":[{"id":"a","metadata":{"customAttributes":{"a":[0`, `,0`), list},
		"attributes of many": {hostiletest.Repeat(`[{"id":"a"}`, `,{"id":"b","metadata":{"customAttributes":{"a":[0,0,0,0,0,0,0,0,0,0,[],[],{},{},{"b":{}}]}}}`), list},
		"attributes of one":  {hostiletest.Repeat(`{"id":"a","metadata":{"customAttributes":{"a":[{}`, `,{}`), asset},
		"nested":             {hostiletest.Repeat(`{"items":[{"id":"a","metadata":{"customAttributes":{"a":`, `[`), list},
		"nested objects":     {hostiletest.Repeat(`{"id":"a","metadata":`, `{"customAttributes":`), asset},
		"other keys":         {hostiletest.Repeat(`{"items":[]`, `,"a":0`), list},
		"faults":             {hostiletest.Repeat(`{"items":[]`, `,"message":"no"`), list},
		"white space":        {hostiletest.Repeat(`{"items":[`, " "), list},
		"gzip":               {hostiletest.Gzip(`{"items":[{"id":"`, "x"), list},
		"gzip of an asset":   {hostiletest.Gzip(`{"id":"`, "x"), asset},
		"gzip of an error": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusBadRequest)
			hostiletest.Gzip(`{"message":"`, "x")(w, r)
		}, asset},
		"fitting assets":        {fit(outbound.Untyped, `[{"id":"a"}`, `,{"id":"b"}`, `]`), list},
		"fitting folders":       {fit(folderWeight, `[{"id":"a"}`, `,{"id":"b"}`, `]`), folders},
		"fitting whole folders": {fit(folderWeight, `[{"id":"a"}`, `,{"id":"0b9d1e7c-40ab-4f63-8c0d-012345678901","name":"Product photos 12345","categoryId":"5f7c9a52-1d3e-4b6a-9f01-23456789abcd","parentId":"0b9d1e7c-40ab-4f63-8c0d-012345678901","createdAt":"2024-05-06T07:08:09.123Z","updatedAt":"2024-05-06T07:08:09.123Z","assetsCount":12,"folders":[]}`, `]`), folders},
		"fitting attributes":    {fit(outbound.Untyped, `[{"id":"a"}`, `,{"id":"b","metadata":{"customAttributes":{"a":[0,0,0,0,0,0,0,0,0,0,[],[],{},{},{"b":{}}]}}}`, `]`), list},
		"fitting values":        {one(`{"id":"a","metadata":{"customAttributes":{"a":[0`, `,0`, `]}}}`), asset},
		"fitting objects":       {one(`{"id":"a","metadata":{"customAttributes":{"a":[0`, `,{"a":0}`, `]}}}`), asset},
		"fitting names":         {one(`{"id":"a","imageUrls":{"":""`, `,"":""`, `}}`), asset},
		"fitting string":        {one(`{"id":"`, `\u00e9`, `"}`), asset},
		"fitting fault":         {one(`{"id":"","statuscode":404,"message":"`, `\u00e9`, `"}`), asset},
		"fitting message":       {one(`{"id":"","statuscode":404,"message":"`, `x `, `"}`), asset},
		"fitting data":          {one(`{"id":"","statuscode":404,"data":{"a":[0`, `,0`, `]}}`), asset},
		"messages of a list":    {hostiletest.Repeat(`{"items":[],"statuscode":404`, `,"message":"`+strings.Repeat("x ", 950_000)+`","Message":"`+strings.Repeat("x ", 950_000)+`","MESSAGE":"`+strings.Repeat("x ", 950_000)+`"`), list},
		"fitting messages of a list": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"items":[],"statuscode":404`)
			for _, name := range strings.Fields("message Message MESSAGE messagE mESSAGE") {
				fmt.Fprintf(w, `,"%s":"%s"`, name, strings.Repeat("x ", 990_000))
			}
			fmt.Fprint(w, "}")
		}, list},
		"head": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("x", 8<<20))
		}, asset},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, tt.answer)
			c.policy = retry.Policy{Attempts: 1}
			var err error
			began := time.Now()
			peak := hostiletest.Peak(t, func() { err = tt.ask(c) })
			t.Logf("%s: %.1f MB in %v: %.150v", name, float64(peak)/(1<<20), time.Since(began).Round(time.Millisecond), err)
			if err == nil && !strings.HasPrefix(name, "fitting") || peak > hostiletest.Most {
				t.Errorf("%.1f MB over idle, %v", float64(peak)/(1<<20), err)
			}
		})
	}
}
