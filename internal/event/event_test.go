package event

import (
	"math"
	"testing"
	"time"
)

func TestMarshal(t *testing.T) {
	at := time.Date(2026, 11, 25, 1, 2, 3, 4, time.FixedZone("", 3600))
	const head = `{"type":"x","version":1,"time":"2026-11-25T00:02:03Z"`
	for want, fields := range map[string]any{
		head + "}": struct{}{},
		head + `,"key":"a&b<c","n":0.5}`: struct {
			Key string `json:"key"`
			N   Rate   `json:"n"`
		}{"a&b<c", .5},
		head + `,"n":[0,0,1.235],"counts":{},"seconds":1.5}`: struct {
			N       []Rate  `json:"n"`
			Counts  Counts  `json:"counts"`
			Seconds Seconds `json:"seconds"`
		}{[]Rate{Rate(math.NaN()), Rate(math.Inf(1)), 1.2345}, nil, Seconds(1500*time.Millisecond + 1)},
	} {
		if got, err := Marshal("x", at, fields); err != nil || got != want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, want)
		}
	}
	if line, err := Marshal("x", at, struct{ F func() }{}); err == nil {
		t.Errorf("a function became %s", line)
	}
}
