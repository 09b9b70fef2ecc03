package metadata

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// fields returns the tags with our names; other tags keep their names.
func (e exif) fields() Fields {
	g, tags := &gathered{}, maps.Clone(e.tags)
	take := func(name string) string {
		value := tags[name]
		delete(tags, name)
		return value
	}
	for _, is := range [...]struct{ tag, name string }{
		{"ImageDescription", "caption"},
		{"ImageTitle", "title"}, {"XPTitle", "title"},
		{"Artist", "creator"}, {"Photographer", "creator"}, {"XPAuthor", "creator"},
		{"Copyright", "copyright"},
		{"Rating", "rating"},
	} {
		if g.fields[is.name] == nil {
			g.once(is.name, take(is.tag))
		}
	}
	for tag := range strings.SplitSeq(take("XPKeywords"), ";") {
		g.known("tags", tag)
	}
	if created := exifMoment(tags, "DateTimeOriginal", "SubSecTimeOriginal", "OffsetTimeOriginal"); created != "" {
		g.once("created", created)
	} else { // the image is a scan
		g.once("created", exifMoment(tags, "CreateDate", "SubSecTimeDigitized", "OffsetTimeDigitized"))
	}
	g.exifPlace(tags)
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		g.other(FromEXIF, name, tags[name])
	}
	return g.fields
}

// exifMoment joins three tags to a time, and removes them if it is valid. Cameras write zeros or spaces
// if they do not know the time.
func exifMoment(tags map[string]string, date, fraction, offset string) string {
	when := tags[date]
	if digits := tags[fraction]; digits != "" && strings.Trim(digits, "0123456789") == "" {
		when += "." + digits
	}
	is := moment(when + tags[offset])
	if is == "" {
		is = moment(tags[date])
	}
	if is != "" {
		delete(tags, date)
		delete(tags, fraction)
		delete(tags, offset)
	}
	return is
}

// exifPlace reads GPS coordinates if they are complete.
func (g *gathered) exifPlace(tags map[string]string) {
	latitude := exifDegrees(tags["GPSLatitude"], tags["GPSLatitudeRef"], "N", "S")
	longitude := exifDegrees(tags["GPSLongitude"], tags["GPSLongitudeRef"], "E", "W")
	if g.place(latitude, longitude) {
		for _, tag := range [...]string{"GPSLatitude", "GPSLatitudeRef", "GPSLongitude", "GPSLongitudeRef"} {
			delete(tags, tag)
		}
	}
}

// exifDegrees returns degrees from degrees, minutes and seconds, or NaN.
func exifDegrees(text, direction, positive, negative string) float64 {
	var sum float64
	parts := strings.Fields(text)
	if len(parts) == 0 || len(parts) > 3 {
		return math.NaN()
	}
	for n, part := range parts {
		value, err := strconv.ParseFloat(part, 64)
		if err != nil || value < 0 || math.IsInf(value, 0) {
			return math.NaN()
		}
		sum += value / math.Pow(60, float64(n))
	}
	switch {
	case strings.EqualFold(direction, positive):
		return sum
	case strings.EqualFold(direction, negative):
		return -sum
	}
	return math.NaN()
}
