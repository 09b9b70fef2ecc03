package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

const (
	iptcMark        = 0x1c // the first byte of each data set
	iptcEnvelope    = 1
	iptcApplication = 2
	iptcCharset     = 90
	iptcLarge       = 0x8000 // this bit marks the length of a length
)

// iptcResource returns the IPTC in the image resources of Photoshop.
func iptcResource(resources []byte) []byte {
	const head, isIPTC = 6, 0x0404
	for len(resources) > head && bytes.HasPrefix(resources, []byte("8BIM")) {
		id := binary.BigEndian.Uint16(resources[4:])
		name := int(resources[head]) + 1
		size := head + name + name%2
		if len(resources) < size+4 {
			return nil
		}
		length := int64(binary.BigEndian.Uint32(resources[size:]))
		resources = resources[size+4:]
		length = min(length, int64(len(resources))) // an incomplete one has a valid beginning
		if id == isIPTC {
			return resources[:length]
		}
		resources = resources[min(length+length%2, int64(len(resources))):]
	}
	return nil
}

// readIPTC reads the fields of the data sets up to the first damaged one.
func readIPTC(data []byte) (Fields, error) {
	sets, utf8Said, err := iptcSets(data)
	g := &gathered{}
	text := map[string][]string{}
	for _, set := range sets {
		if name := iptcName(set.number); name != "" {
			text[name] = append(text[name], iptcText(set.value, utf8Said))
		}
	}
	g.iptcFields(text)
	return g.fields, errors.Join(err, g.omitted())
}

type iptcSet struct {
	number byte
	value  []byte
}

// iptcSets returns the metadata data sets, and whether they declare UTF-8.
func iptcSets(data []byte) (sets []iptcSet, isUTF8 bool, err error) {
	const head = 5
	for data = inOrder(data); len(data) >= head && data[0] == iptcMark && len(sets) < maxValues; {
		record, number, length := data[1], data[2], int(binary.BigEndian.Uint16(data[3:]))
		data = data[head:]
		if length&iptcLarge != 0 {
			length, data = iptcLength(length&^iptcLarge, data)
		}
		if length < 0 || length > len(data) {
			return sets, isUTF8, errors.New("it is incomplete")
		}
		value := data[:length]
		data = data[length:]
		if record == iptcApplication {
			sets = append(sets, iptcSet{number, value})
		} else if record == iptcEnvelope && number == iptcCharset {
			isUTF8 = bytes.HasPrefix(value, []byte("\x1b%G"))
		}
	}
	if len(bytes.Trim(data, "\x00")) > 0 && data[0] != 0 {
		err = errors.New("it contains other data than data sets")
	}
	return sets, isUTF8, err
}

// iptcLength reads a length of a width in bytes; -1 if it is invalid.
func iptcLength(width int, data []byte) (int, []byte) {
	if width > 4 || width > len(data) {
		return -1, data
	}
	length := 0
	for _, b := range data[:width] {
		length = length<<8 | int(b)
	}
	return length, data[width:]
}

// inOrder restores the byte order of IPTC in a TIFF that a program stored as numbers.
func inOrder(data []byte) []byte {
	if len(data) < 4 || data[0] == iptcMark || data[3] != iptcMark {
		return data
	}
	right := bytes.Clone(data)
	for word := right; len(word) >= 4; word = word[4:] {
		slices.Reverse(word[:4])
	}
	return right
}

// iptcText returns the text of a value. Programs often write UTF-8 without declaring it, or declare it and
// write another character set. Text of another character set is rarely valid UTF-8.
func iptcText(value []byte, utf8Said bool) string {
	value = bytes.Trim(value, "\x00")
	if !utf8Said && !utf8.Valid(value) {
		value, _ = charmap.Windows1252.NewDecoder().Bytes(value)
	}
	return legible(string(value))
}

// iptcFields adds the data sets with our names; others keep their names.
func (g *gathered) iptcFields(text map[string][]string) {
	take := func(tag string) []string {
		values := text[tag]
		delete(text, tag)
		return values
	}
	for _, is := range [...]struct{ tag, name string }{
		{"Caption-Abstract", "caption"},
		{"ObjectName", "title"},
		{"Headline", "headline"},
		{"Keywords", "tags"},
		{"By-line", "creator"},
		{"Credit", "credit"},
		{"CopyrightNotice", "copyright"},
		{"SpecialInstructions", "instructions"},
		{"City", "city"},
		{"Province-State", "state"},
		{"Country-PrimaryLocationName", "country"},
		{"Sub-location", "location"},
	} {
		for _, value := range take(is.tag) {
			g.known(is.name, value)
		}
	}
	g.iptcCreated(text)
	for _, tag := range slices.Sorted(maps.Keys(text)) {
		for _, value := range text[tag] {
			g.other(FromIPTC, tag, value)
		}
	}
}

// iptcCreated adds the capture date.
func (g *gathered) iptcCreated(text map[string][]string) {
	date, clock := first(text["DateCreated"]), first(text["TimeCreated"])
	is := moment(iptcDate(date) + "T" + iptcTime(clock))
	if is == "" {
		is = moment(iptcDate(date))
	}
	if g.once("created", is); is != "" {
		delete(text, "DateCreated")
		delete(text, "TimeCreated")
	}
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// iptcDate returns the known part of a date such as 20061231; unknown parts are zeros.
func iptcDate(date string) string {
	if date = strings.NewReplacer("-", "", ":", "").Replace(date); len(date) != len("20061231") {
		return ""
	}
	year, month, day := date[:4], date[4:6], date[6:]
	switch {
	case month == "00":
		return year
	case day == "00":
		return year + "-" + month
	}
	return year + "-" + month + "-" + day
}

// iptcTime returns a time such as 150405+0200 in the format of RFC 3339.
func iptcTime(clock string) string {
	clock = strings.ReplaceAll(clock, ":", "")
	if len(clock) < len("150405") {
		return clock
	}
	is, zone := clock[:2]+":"+clock[2:4]+":"+clock[4:6], clock[6:]
	if len(zone) == len("+0200") {
		zone = zone[:3] + ":" + zone[3:]
	}
	return is + zone
}
