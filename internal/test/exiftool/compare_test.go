//go:build exiftool

package exiftool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assetferry/internal/metadata"
)

// A theirs is the output of exiftool for a file: values by group and tag, without conversion.
type theirs map[string]any

// exiftool reads files, and returns its output by file name.
func exiftool(t *testing.T, files []string) map[string]theirs {
	t.Helper()
	list := filepath.Join(t.TempDir(), "files")
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c := exec.CommandContext(t.Context(), "exiftool", "-j", "-G1", "-n", "-m", "-q", "-@", list)
	c.Stderr = &errs
	out, err := c.Output() // it fails if any of the files is broken
	var all []theirs
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	if d.Decode(&all) != nil {
		t.Fatalf("exiftool: %v\n%s", err, errs.Bytes())
	}
	by := map[string]theirs{}
	for _, is := range all {
		by[fmt.Sprint(is["SourceFile"])] = is
	}
	return by
}

// values returns the values of the first of some tags that has any, as text.
func (s theirs) values(tags ...string) []string {
	for _, tag := range tags {
		var values []string
		list, isList := s[tag].([]any)
		if !isList {
			list = []any{s[tag]}
		}
		for _, v := range list {
			if text := plain(v); text != "" && !slices.Contains(values, text) {
				values = append(values, text)
			}
		}
		if values != nil {
			return values
		}
	}
	return nil
}

func plain(v any) string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(v), "\r\n", "\n"), "\r", "\n"))
}

// An agreement lists the tags of exiftool that have the values of a field of ours.
type agreement struct {
	from metadata.Source
	name string
	tags []string
}

func agreements() []agreement {
	return []agreement{
		{metadata.FromEXIF, "caption", []string{"IFD0:ImageDescription"}},
		{metadata.FromEXIF, "title", []string{"IFD0:XPTitle"}},
		{metadata.FromEXIF, "creator", []string{"IFD0:Artist", "IFD0:XPAuthor"}},
		{metadata.FromEXIF, "copyright", []string{"IFD0:Copyright"}},
		{metadata.FromEXIF, "rating", []string{"IFD0:Rating"}},
		{metadata.FromIPTC, "caption", []string{"IPTC:Caption-Abstract"}},
		{metadata.FromIPTC, "title", []string{"IPTC:ObjectName"}},
		{metadata.FromIPTC, "headline", []string{"IPTC:Headline"}},
		{metadata.FromIPTC, "tags", []string{"IPTC:Keywords"}},
		{metadata.FromIPTC, "creator", []string{"IPTC:By-line"}},
		{metadata.FromIPTC, "credit", []string{"IPTC:Credit"}},
		{metadata.FromIPTC, "copyright", []string{"IPTC:CopyrightNotice"}},
		{metadata.FromIPTC, "instructions", []string{"IPTC:SpecialInstructions"}},
		{metadata.FromIPTC, "city", []string{"IPTC:City"}},
		{metadata.FromIPTC, "state", []string{"IPTC:Province-State"}},
		{metadata.FromIPTC, "country", []string{"IPTC:Country-PrimaryLocationName"}},
		{metadata.FromIPTC, "location", []string{"IPTC:Sub-location"}},
		{metadata.FromXMP, "caption", []string{"XMP-dc:Description"}},
		{metadata.FromXMP, "title", []string{"XMP-dc:Title"}},
		{metadata.FromXMP, "tags", []string{"XMP-dc:Subject"}},
		{metadata.FromXMP, "creator", []string{"XMP-dc:Creator"}},
		{metadata.FromXMP, "copyright", []string{"XMP-dc:Rights"}},
		{metadata.FromXMP, "headline", []string{"XMP-photoshop:Headline"}},
		{metadata.FromXMP, "credit", []string{"XMP-photoshop:Credit"}},
		{metadata.FromXMP, "instructions", []string{"XMP-photoshop:Instructions"}},
		{metadata.FromXMP, "city", []string{"XMP-photoshop:City"}},
		{metadata.FromXMP, "state", []string{"XMP-photoshop:State"}},
		{metadata.FromXMP, "country", []string{"XMP-photoshop:Country"}},
		{metadata.FromXMP, "location", []string{"XMP-iptcCore:Location"}},
		{metadata.FromXMP, "alt", []string{"XMP-iptcCore:AltTextAccessibility"}},
		{metadata.FromXMP, "rating", []string{"XMP-xmp:Rating"}},
	}
}

// compare compares our metadata of a file with exiftool's, and returns the number of fields that
// both have.
func compare(t *testing.T, name string, ours metadata.Found, is theirs) (agreed int) {
	t.Helper()
	hold := func(from metadata.Source, field string, want []string, same func(a, b string) bool) {
		got := ours[from][field]
		if why := disagreement(name, field); why != "" {
			t.Logf("%s: %s is %q, and exiftool says %q: %s", name, field, got, want, why)
		} else if !slices.EqualFunc(got, want, same) {
			t.Errorf("%s: %s %s is %q, and exiftool says %q", name, from, field, got, want)
		} else if len(got) > 0 {
			agreed++
		}
	}
	for _, a := range agreements() {
		hold(a.from, a.name, is.values(a.tags...), func(a, b string) bool { return a == b })
	}
	hold(metadata.FromEXIF, "tags", splitWords(is.values("IFD0:XPKeywords")), func(a, b string) bool { return a == b })
	for _, from := range []metadata.Source{metadata.FromEXIF, metadata.FromIPTC, metadata.FromXMP} {
		hold(from, "created", is.created(from), func(a, b string) bool { return a == b })
	}
	for from, group := range map[metadata.Source]string{metadata.FromEXIF: "GPS:", metadata.FromXMP: "XMP-exif:"} {
		hold(from, "latitude", is.degrees(group, "GPSLatitude", "S"), near)
		hold(from, "longitude", is.degrees(group, "GPSLongitude", "W"), near)
	}
	for field := range ours[metadata.FromEXIF] {
		if tag, other := strings.CutPrefix(field, "exif."); other {
			hold(metadata.FromEXIF, field, is.values("IFD0:"+tag, "ExifIFD:"+tag, "GPS:"+tag), sameNumbers)
		}
	}
	for field := range ours[metadata.FromIPTC] {
		if tag, other := strings.CutPrefix(field, "iptc."); other {
			hold(metadata.FromIPTC, field, is.iptc(tag, ours[metadata.FromIPTC][field]), sameDigits)
		}
	}
	return agreed
}

// iptc returns the values of an IPTC tag. If a tag that should have one value has several, exiftool
// returns one of them.
func (s theirs) iptc(tag string, ours []string) []string {
	values := s.values("IPTC:" + tag)
	if len(values) == 1 && len(ours) > 1 && slices.Contains(ours, values[0]) {
		return ours
	}
	return values
}

func splitWords(values []string) (words []string) {
	for _, v := range values {
		for word := range strings.SplitSeq(v, ";") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// created returns the capture date in our form.
func (s theirs) created(from metadata.Source) []string {
	var when string
	switch from {
	case metadata.FromEXIF:
		when = s.exifCreated("DateTimeOriginal", "SubSecTimeOriginal", "OffsetTimeOriginal")
		if when == "" {
			when = s.exifCreated("CreateDate", "SubSecTimeDigitized", "OffsetTimeDigitized")
		}
	case metadata.FromIPTC:
		if when = first(s.values("IPTC:DateCreated")); when != "" {
			when = strings.TrimSpace(when + " " + first(s.values("IPTC:TimeCreated")))
		}
	case metadata.FromXMP:
		when = first(s.values("XMP-photoshop:DateCreated", "XMP-exif:DateTimeOriginal", "XMP-xmp:CreateDate"))
	}
	if is := asWeSay(when); is != "" {
		return []string{is}
	}
	return nil
}

func (s theirs) exifCreated(date, fraction, offset string) string {
	when := first(s.values("ExifIFD:"+date, "IFD0:"+date))
	if digits := first(s.values("ExifIFD:" + fraction)); when != "" && digits != "" {
		when += "." + digits
	}
	return when + first(s.values("ExifIFD:"+offset))
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// asWeSay converts a time of exiftool to our form.
func asWeSay(when string) string {
	for _, form := range [...]struct{ in, out string }{
		{"2006:01:02 15:04:05Z07:00", time.RFC3339Nano}, {"2006:01:02 15:04:05", "2006-01-02T15:04:05.999999999"},
		{"2006:01:02 15:04Z07:00", time.RFC3339}, {"2006:01:02 15:04", "2006-01-02T15:04:05"},
		{"2006:01:02", time.DateOnly}, {"2006:01", "2006-01"}, {"2006", "2006"},
	} {
		if is, err := time.Parse(form.in, when); err == nil && is.Year() > 0 {
			return is.Format(form.out)
		}
	}
	return ""
}

// degrees returns a coordinate with its sign, if latitude and longitude both exist.
func (s theirs) degrees(group, tag, negative string) []string {
	if s.values(group+"GPSLatitude") == nil || s.values(group+"GPSLongitude") == nil {
		return nil
	}
	if group == "GPS:" && (s.values("GPS:GPSLatitudeRef") == nil || s.values("GPS:GPSLongitudeRef") == nil) {
		return nil
	}
	is, err := strconv.ParseFloat(first(s.values(group+tag)), 64)
	if err != nil {
		return nil
	}
	if first(s.values(group+tag+"Ref")) == negative {
		is = -math.Abs(is)
	}
	return []string{strconv.FormatFloat(is, 'f', -1, 64)}
}

func near(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, wrong := strconv.ParseFloat(b, 64)
	return err == nil && wrong == nil && math.Abs(x-y) <= 1e-6*max(1, math.Abs(y))
}

// sameNumbers compares EXIF values, which are a number, several numbers, or text. Exiftool shows
// some of them as times and degrees, which are numbers to us.
func sameNumbers(a, b string) bool {
	ours, theirs := strings.Fields(a), strings.FieldsFunc(b, func(r rune) bool { return r == ' ' || r == '\n' || r == ':' })
	return a == b || slices.EqualFunc(ours, theirs, func(x, y string) bool { return x == y || near(x, y) }) || strings.Contains(a, "undef") || strings.Contains(a, "inf")
}

// sameDigits compares IPTC values; exiftool adds punctuation to dates and times.
func sameDigits(a, b string) bool {
	marks := strings.NewReplacer(":", "", "-", "", " ", "")
	return a == b || marks.Replace(a) == marks.Replace(b) || near(a, b)
}
