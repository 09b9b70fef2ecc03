package ai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The test verifies several spellings of the fields. Only the environment object and the array of
// users are documented.
func TestUsage(t *testing.T) {
	for name, answered := range map[string]string{
		"plain":       `{"environment":{"credits":7.5,"allowance":100},"users":[{"userId":"a","credits":3},{"userId":"b","credits":4.5}]}`,
		"used, limit": `{"environment":{"id":"e","usedCredits":7.5,"creditLimit":100},"users":[{"id":"a","usedCredits":3},{"id":"b","usedCredits":4.5}]}`,
		"consumed":    `{"environment":{"credits_consumed":"7.5","quota":"100"},"users":[{"sub":"a","credits_consumed":"3"},{"sub":"b","credits_consumed":"4.5"}]}`,
		"nested":      `{"environment":{"usage":{"credits":{"used":7.5,"limit":100,"remaining":92.5}}},"users":[{"user":{"id":"a"},"usage":{"credits":{"used":3}}},{"user":{"id":"b"},"credits":{"total":4.5}}]}`,
		"both":        `{"environment":{"credits":100,"creditsUsed":7.5,"creditAllowance":100},"users":[{"user_id":"a","credits":3},{"user_id":"b","credits":4.5}]}`,
		"row and sub": `{"environment":{"credits":7.5,"allowance":100},"users":[{"id":"1","sub":"a","credits":3},{"id":"2","sub":"b","credits":4.5}]}`,
		"page":        `{"environment":{"credits":7.5,"allowance":100},"users":{"items":[{"userId":"a","credits":3},{"userId":"b","credits":4.5}],"nextCursor":null}}`,
	} {
		c := serve(t, Options{}, answer(200, "application/json", answered))
		got, err := c.Usage(t.Context(), time.Time{}, time.Time{}, AllUsers)
		if err != nil || got.Credits != 7.5 || got.Allowance == nil || *got.Allowance != 100 ||
			len(got.Users) != 2 || got.Users[0] != (UserUsage{"a", 3}) || got.Users[1] != (UserUsage{"b", 4.5}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// The test verifies that a requested user that the answer lacks is an error, and not a usage of 0.
func TestUsageOfAMissingUser(t *testing.T) {
	c := serve(t, Options{}, answer(200, "application/json", `{"environment":{"credits":7},"users":[{"userId":"a","credits":3}]}`))
	got, err := c.Usage(t.Context(), time.Time{}, time.Time{}, "a", "b")
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoUsage) || !strings.Contains(err.Error(), "user b") || !strings.Contains(e.Hint(), "omit a user without usage") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The test verifies that an unreadable answer is a permanent error, because the next one would be
// the same.
func TestUsageThatCannotBeRead(t *testing.T) {
	for name, answered := range map[string]string{
		"an earlier guess":    `{"credits":7,"users":{"items":[]}}`,
		"no credits":          `{"environment":{"id":"e"},"users":[]}`,
		"null":                `{"environment":{"credits":null},"users":[]}`,
		"negative":            `{"environment":{"credits":-1},"users":[]}`,
		"not a number":        `{"environment":{"credits":"NaN"},"users":[]}`,
		"no users":            `{"environment":{"credits":7}}`,
		"a user without ID":   `{"environment":{"credits":7},"users":[{"credits":7}]}`,
		"a user without any":  `{"environment":{"credits":7},"users":[{"userId":"a"}]}`,
		"not an object":       `[]`,
		"not JSON":            `<html>`,
		"users without list":  `{"environment":{"credits":7},"users":{"a":7}}`,
		"environment is text": `{"environment":"e","users":[]}`,
	} {
		asked := 0
		c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			asked++
			answer(200, "application/json", answered)(w, r)
		})
		got, err := c.Usage(t.Context(), time.Time{}, time.Time{}, AllUsers)
		if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), "not readable") || asked != 1 {
			t.Errorf("%s: got %+v, %v, asked %d times", name, got, err, asked)
		}
	}
}

// The test verifies that an interrupted answer is requested again.
func TestUsageThatBreaksOff(t *testing.T) {
	var asked atomic.Int32 // on two connections in sequence
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // unread bytes would make the system discard the answer
		if asked.Add(1) == 1 {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"environment":`))
			_ = http.NewResponseController(w).Flush() // the answer must begin before the connection breaks
			panic(http.ErrAbortHandler)
		}
		answer(200, "application/json", `{"environment":{"credits":7}}`)(w, r)
	})
	if got, err := c.Usage(t.Context(), time.Time{}, time.Time{}); err != nil || got.Credits != 7 || asked.Load() != 2 {
		t.Errorf("got %+v, %v, asked %d times", got, err, asked.Load())
	}
}
