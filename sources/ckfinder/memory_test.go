package ckfinder_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/outbound/hostiletest"
)

// TestMemoryOfHostileAnswers verifies that reading any answer of a connector takes at most 32 MB.
func TestMemoryOfHostileAnswers(t *testing.T) {
	small := outbound.Weight{Object: 160, Value: 8}
	for name, answer := range map[string]http.HandlerFunc{
		"one name":    hostiletest.Repeat(`{"currentFolder":{"path":"/"},"files":[{"name":"`, "x"),
		"empty files": hostiletest.Repeat(`{"files":[{}`, `,{}`),
		"tiny files":  hostiletest.Repeat(`{"files":[{"name":"a"}`, `,{"name":"b"}`),
		"null":        hostiletest.Repeat(`{"files":[null`, `,null`),
		"other keys":  hostiletest.Repeat(`{"files":[]`, `,"a":0`),
		"nested":      hostiletest.Repeat(`{"a":`, `[`),
		"white space": hostiletest.Repeat(``, ` `),
		"fitting":     hostiletest.Fitting(small, 0, `{"currentFolder":{"path":"/"},"files":[{"name":"a"}`, `,{"name":"b","date":"202401010000","size":1}`, `]}`),
	} {
		t.Run(name, func(t *testing.T) {
			c := library(t)
			c.Wrap(instead(command("GetFiles"), answer))
			s := newSource(t, c, "?type=Images")
			var err error
			peak := hostiletest.Peak(t, func() { _, err = listLines(t, s) })
			t.Logf("%s: %.1f MB: %.150v", name, float64(peak)/(1<<20), err)
			if err == nil && name != "fitting" || peak > hostiletest.Most {
				t.Errorf("%.1f MB over idle, %v", float64(peak)/(1<<20), err)
			}
		})
	}
}

// TestAnswerThatTrickles verifies that a listing ends with an error if its answer arrives too
// slowly.
func TestAnswerThatTrickles(t *testing.T) {
	c := library(t)
	c.Wrap(instead(command("GetFiles"), func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	s := newSource(t, c, "?type=Images")
	s.GiveUpAfter(100 * time.Millisecond)
	ended := make(chan error)
	go func() {
		_, err := listLines(t, s)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "the transfer stalled") {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}
