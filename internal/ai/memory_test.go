package ai

import (
	"io"
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
	list := func(c *Client) error {
		for _, err := range c.Conversations(t.Context(), ConversationFilter{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	models := func(c *Client) error { _, err := c.Models(t.Context()); return err }
	usage := func(c *Client) error { _, err := c.Usage(t.Context(), time.Time{}, time.Time{}, AllUsers); return err }
	description := func(c *Client) error { _, err := c.Description(t.Context()); return err }
	reply := func(c *Client) error {
		s, err := c.Send(t.Context(), "c", Message{Prompt: "x", Model: "m"})
		if err == nil {
			_, err = Text(s)
		}
		return err
	}
	review := func(c *Client) error {
		s, err := c.Send(t.Context(), "c", Message{Prompt: "x", Model: "m"})
		if err == nil {
			_, err = Suggestions(s)
		}
		return err
	}
	fit := func(begin, again, end string) http.HandlerFunc {
		return hostiletest.Fitting(outbound.Untyped, maxAnswer, begin, again, end)
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*Client) error
	}{
		"one string":      {hostiletest.Repeat(`{"items":[{"id":"`, "x"), list},
		"tiny items":      {hostiletest.Repeat(`{"items":[{}`, `,{}`), list},
		"array":           {hostiletest.Repeat(`[{"id":"a"}`, `,{"id":"b"}`), list},
		"nested":          {hostiletest.Repeat(`{"items":`, `[`), list},
		"gzip":            {hostiletest.Gzip(`{"items":[{"id":"`, "x"), list},
		"models":          {hostiletest.Repeat(`{"items":[{}`, `,{}`), models},
		"fitting null":    {fit(`{"items":[null`, `,null`, `]}`), models},
		"numbers":         {fit(`{"items":[0`, `,0`, `]}`), models},
		"users":           {hostiletest.Repeat(`{"environment":{"credits":1},"users":[{"id":"a","credits":1}`, `,{"id":"b","credits":1}`), usage},
		"description":     {hostiletest.Repeat(`{"paths":{"/a":{}`, `,"/b":{"get":{}}`), description},
		"one event":       {hostiletest.Events("event: text-delta\ndata: ", "x"), reply},
		"many events":     {hostiletest.Events("", "event: text-delta\ndata: {\"textDelta\":\"xxxxxxxxxxxxxxxx\"}\n\n"), reply},
		"lines of data":   {hostiletest.Events("event: text-delta\n", "data: x\n"), reply},
		"name":            {hostiletest.Events("event: ", "x"), reply},
		"fitting string":  {fit(`{"items":[{"id":"`, "x", `"}]}`), list},
		"fitting escapes": {fit(`{"items":[{"title":"`, `\u00e9`, `"}]}`), list},
		"fitting items":   {fit(`{"items":[{}`, `,{"id":"b"}`, `]}`), list},
		"fitting array":   {fit(`[{}`, `,{}`, `]`), list},
		"fitting models":  {fit(`{"items":[{}`, `,{}`, `]}`), models},
		"fitting values":  {fit(`{"items":[{"attributes":{"a":[0`, `,0`, `]}}]}`), list},
		"fitting objects": {fit(`{"items":[{"attributes":{"a":[0`, `,{"a":0}`, `]}}]}`), list},
		"fitting users":   {fit(`{"environment":{"credits":1},"users":[{"id":"a","credits":1}`, `,{"id":"b","credits":1}`, `]}`), usage},
		"fitting paths":   {fit(`{"paths":{"/a":{}`, `,"/b":{"get":{}}`, `}}`), description},
		"message of an error": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: error\ndata: {\"message\":\""+strings.Repeat("x ", 1_040_000)+"\"}\n\n")
		}, reply},
		"one suggestion": {hostiletest.Events("", "event: review-delta\ndata: {\"dataId\":\"a\",\"textDelta\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n\n"), review},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Options{Retry: retry.Policy{Attempts: 1}}, tt.answer)
			var err error
			peak := hostiletest.Peak(t, func() { err = tt.ask(c) })
			t.Logf("%s: %.1f MB: %.150v", name, float64(peak)/(1<<20), err)
			if err == nil && !strings.HasPrefix(name, "fitting") || peak > hostiletest.Most {
				t.Errorf("%.1f MB over idle, %v", float64(peak)/(1<<20), err)
			}
		})
	}
}
