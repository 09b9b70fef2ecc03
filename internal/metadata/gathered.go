package metadata

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// gathered collects the fields of a metadata source within limits, because content may be hostile.
type gathered struct {
	fields Fields
	values int
	beyond int // omitted values
}

// known adds a value of a field with one of our names.
func (g *gathered) known(name, value string) { g.add(name, value, maxText) }

// other adds a value of any other field. A long value is an image or internal data of a program, and is
// omitted.
func (g *gathered) other(from Source, tag, value string) {
	g.add(string(from)+"."+tag, value, maxUnmapped)
}

func (g *gathered) add(name, value string, most int) {
	if value = strings.TrimSpace(value); value == "" {
		return
	}
	if len(value) > most || len(name) > maxUnmapped || g.values == maxValues || !utf8.ValidString(name) {
		if g.beyond++; most == maxUnmapped {
			g.beyond--
		}
		return
	}
	if g.fields == nil {
		g.fields = Fields{}
	}
	g.values++
	g.fields[name] = append(g.fields[name], value)
}

// once adds a value of a field without duplicates, if the field is not set yet.
func (g *gathered) once(name, value string) {
	if g.fields[name] == nil {
		g.known(name, value)
	}
}

// omitted returns an error if values were omitted.
func (g *gathered) omitted() error {
	if g.beyond == 0 {
		return nil
	}
	return fmt.Errorf("%d values omitted: longer than %d KiB, or beyond %d values", g.beyond, maxText>>10, maxValues)
}

// moment returns a time in RFC 3339, without an unknown offset and without unknown parts: a year stays a
// year. It returns "" for other text. Programs write dates with colons or dashes.
func moment(written string) string {
	date, clock, _ := strings.Cut(strings.Replace(strings.TrimSpace(written), "T", " ", 1), " ")
	text := strings.ReplaceAll(date, ":", "-")
	if clock = strings.TrimSpace(clock); clock != "" {
		text += "T" + strings.ReplaceAll(clock, " ", "")
	}
	for _, form := range [...]struct{ in, out string }{
		{"2006-01-02T15:04:05Z07:00", time.RFC3339Nano},
		{"2006-01-02T15:04:05", "2006-01-02T15:04:05.999999999"},
		{"2006-01-02T15:04Z07:00", time.RFC3339},
		{"2006-01-02T15:04", "2006-01-02T15:04:05"},
		{time.DateOnly, time.DateOnly},
		{"2006-01", "2006-01"},
		{"2006", "2006"},
	} {
		if t, err := time.Parse(form.in, text); err == nil && t.Year() > 0 {
			return t.Format(form.out)
		}
	}
	return ""
}

// place adds GPS coordinates in degrees, and reports whether they are valid.
func (g *gathered) place(latitude, longitude float64) bool {
	if math.Abs(latitude) > 90 || math.Abs(longitude) > 180 || math.IsNaN(latitude) || math.IsNaN(longitude) {
		return false
	}
	g.once("latitude", degrees(latitude))
	g.once("longitude", degrees(longitude))
	return true
}

// degrees formats degrees with a precision of about a centimetre.
func degrees(d float64) string {
	const parts = 1e7
	return strconv.FormatFloat(math.Round(d*parts)/parts+0, 'f', -1, 64)
}
