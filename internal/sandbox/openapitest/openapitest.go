// Package openapitest compares a sandbox in tests with its description: every response, each
// event of a stream, and every executed request.
//
// Bodies other than JSON and events are not stored.
package openapitest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
)

// A Checker wraps a sandbox. It is an http.Handler, safe for concurrent use.
type Checker struct {
	sandbox     http.Handler
	description *description

	mu       sync.Mutex
	problems []error
	called   map[string]bool
}

// A Service is a service with a sandbox.
type Service struct {
	description func() (*description, error)
}

var assetService = Service{load("internal/sandbox/openapi.yaml", sandbox.Description)}

var aiService = Service{load("internal/sandbox/aiservice/openapi.yaml", aiservice.Description)}

// AI returns the AI content service.
func AI() Service { return aiService }

// Check wraps a sandbox of the asset management service.
func Check(sandbox http.Handler) (*Checker, error) { return assetService.Check(sandbox) }

// Check wraps a sandbox of the service.
func (s Service) Check(sandbox http.Handler) (*Checker, error) {
	d, err := s.description()
	if err != nil {
		return nil, err
	}
	return newChecker(sandbox, d), nil
}

func newChecker(sandbox http.Handler, d *description) *Checker {
	return &Checker{sandbox: sandbox, description: d, called: make(map[string]bool)}
}

// Around wraps a sandbox of the asset management service and fails the test at its end.
func Around(tb testing.TB, sandbox http.Handler) *Checker {
	tb.Helper()
	return assetService.Around(tb, sandbox)
}

// Around wraps a sandbox of the service and fails the test at its end.
func (s Service) Around(tb testing.TB, sandbox http.Handler) *Checker {
	tb.Helper()
	c, err := s.Check(sandbox)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Err(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// most limits the recorded problems.
const most = 10

// Err returns the differences from the description.
func (c *Checker) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.problems...)
}

// Called returns the operations with successful responses, such as "GET /assets/{id}".
func (c *Checker) Called() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.called))
}

// Operations returns the described operations that the real service also has.
func (c *Checker) Operations() []string { return c.description.names("Sandbox") }

// ServeHTTP checks the response of the sandbox. Interrupted responses are ignored.
func (c *Checker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op, known := c.description.find(r)
	r = r.WithContext(r.Context()) // a copy
	e := &exchange{description: c.description, op: op, known: known, request: r, sent: c.description.receive(op, r)}
	e.answer.ResponseWriter = w
	defer e.sent.end()
	c.sandbox.ServeHTTP(&e.answer, r)
	e.sent.end()
	err := e.check()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && len(c.problems) < most {
		c.problems = append(c.problems, fmt.Errorf("differs from %s: %s %s: %d: %w",
			c.description.file, r.Method, r.URL, e.answer.status, err))
	}
	if known && e.answer.status < 400 {
		c.called[op.name] = true
	}
}

// isJSON reports whether a content type is JSON.
func isJSON(contentType string) bool { return mediaType(contentType) == "application/json" }

func mediaType(contentType string) string {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}
