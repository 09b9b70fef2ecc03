package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestImageURL(t *testing.T) {
	a := Asset{ID: "a", URL: "https://cdn/w/assets/a/file"}
	for _, tt := range []struct {
		r    Rendition
		want string
	}{
		{Rendition{Width: 400}, "https://cdn/w/assets/a/images/400.webp"},
		{Rendition{Width: 400, Format: JPEG}, "https://cdn/w/assets/a/images/400.jpeg"},
		{Rendition{Width: 400, Height: 300, Format: TIFF}, "https://cdn/w/assets/a/images/400x300.tiff"},
		{Rendition{}, ""}, {Rendition{Width: -1}, ""}, {Rendition{Width: 1, Height: -1}, ""}, {Rendition{Width: 1, Format: "jpg"}, ""},
	} {
		if got, err := a.ImageURL(tt.r); got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %q, %v", tt.r, got, err)
		}
	}
	if got, err := (Asset{URL: "https://cdn/elsewhere"}).ImageURL(Rendition{Width: 1}); err == nil {
		t.Errorf("got %q", got)
	}
}

// TestProcessed verifies the number of requests until an image is processed.
func TestProcessed(t *testing.T) {
	for _, tt := range []struct {
		queued int // number of requests that return it as queued
		status ProcessingStatus
		looks  int
		took   time.Duration
	}{
		{0, Success, 1, 0}, {1, Success, 2, 100 * time.Millisecond}, {4, Failed, 5, 4 * time.Second},
		{5, Queued, 5, 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			looks, begun := 0, time.Now()
			c := awaitingClient(t, func() ProcessingStatus {
				if looks++; looks <= tt.queued {
					return Queued
				}
				return tt.status
			})
			a, err := c.Processed(t.Context(), "a")
			if a.Metadata.Status != tt.status || errors.Is(err, ErrQueued) != (tt.status == Queued) || looks != tt.looks {
				t.Errorf("%+v: %q, %v after %d looks", tt, a.Metadata.Status, err, looks)
			}
			if took := time.Since(begun); took != tt.took {
				t.Errorf("%+v: took %v", tt, took)
			}
		})
	}
}

func TestProcessedIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := awaitingClient(t, func() ProcessingStatus { return Queued }).Analysed(ctx, "a")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// awaitingClient returns a client of a service with a single image.
func awaitingClient(t *testing.T, status func() ProcessingStatus) *Client {
	t.Helper()
	return newClient(t, Options{BaseURL: "https://localhost", Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		s := status()
		body := fmt.Sprintf(`{"id":"a","metadata":{"metadataProcessingStatus":%q,"analysisProcessingStatus":%q}}`, s, s)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	})})
}
