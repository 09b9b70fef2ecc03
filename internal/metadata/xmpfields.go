package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// readXMP reads the fields of a packet and of its extension. A damaged packet has no fields.
func readXMP(packet, more []byte) (Fields, error) {
	properties, _, err := parseXMP(packet)
	if err != nil {
		return nil, err
	}
	if len(more) > 0 {
		var rest []xmpProperty
		rest, _, err = parseXMP(more)
		properties = append(properties, rest...)
	}
	g := &gathered{}
	g.xmpFields(properties)
	return g.fields, errors.Join(err, g.omitted())
}

// xmpName returns our name for a property, and whether it may have several values.
func xmpName(property string) (name string, several bool) {
	switch strings.ToLower(property) { // programs differ in case
	case "dc:description":
		return "caption", false
	case "dc:title":
		return "title", false
	case "dc:subject":
		return "tags", true
	case "dc:creator":
		return "creator", true
	case "dc:rights":
		return "copyright", false
	case "photoshop:headline":
		return "headline", false
	case "photoshop:credit":
		return "credit", false
	case "photoshop:instructions":
		return "instructions", false
	case "photoshop:city":
		return "city", false
	case "photoshop:state":
		return "state", false
	case "photoshop:country":
		return "country", false
	case "iptc4xmpcore:location":
		return "location", false
	case "iptc4xmpcore:alttextaccessibility":
		return "alt", false
	case "xmp:rating":
		return "rating", false
	}
	return "", false
}

// xmpFields adds the properties with our names; others keep their names.
func (g *gathered) xmpFields(properties []xmpProperty) {
	special := map[string]string{ // properties that need conversion
		"photoshop:DateCreated": "", "exif:DateTimeOriginal": "", "xmp:CreateDate": "",
		"exif:GPSLatitude": "", "exif:GPSLongitude": "",
	}
	for _, p := range properties {
		name, several := xmpName(p.name)
		if was, is := special[p.name]; is && was == "" {
			special[p.name] = p.value
		} else if several {
			g.known(name, p.value)
		} else if name != "" {
			g.once(name, p.value)
		} else if !isProgramsOwn(p.name) {
			g.other(FromXMP, p.name, p.value)
		}
	}
	g.xmpSpecial(special)
}

// isProgramsOwn reports whether a property is internal data of a program: development settings and the
// edit history. There are hundreds of them.
func isProgramsOwn(property string) bool {
	for _, begin := range [...]string{"crs:", "crd:", "xmpMM:History", "xmpMM:Ingredients", "xmpMM:Manifest", "xmpMM:Pantry",
		"photoshop:DocumentAncestors", "photoshop:TextLayers", "xmp:Thumbnails"} {
		if strings.HasPrefix(property, begin) {
			return true
		}
	}
	return false
}

// xmpSpecial adds the capture date and GPS coordinates.
func (g *gathered) xmpSpecial(said map[string]string) {
	for _, name := range [...]string{"photoshop:DateCreated", "exif:DateTimeOriginal", "xmp:CreateDate"} {
		is := moment(said[name])
		if is != "" && g.fields["created"] == nil {
			g.once("created", is)
		} else {
			g.other(FromXMP, name, said[name])
		}
	}
	latitude, longitude := said["exif:GPSLatitude"], said["exif:GPSLongitude"]
	if !g.place(xmpDegrees(latitude, "N", "S"), xmpDegrees(longitude, "E", "W")) {
		g.other(FromXMP, "exif:GPSLatitude", latitude)
		g.other(FromXMP, "exif:GPSLongitude", longitude)
	}
}

// xmpDegrees returns degrees from text such as "26,34.951N" or "26,34,57N", or NaN. Some programs write a
// signed number, or numbers as in EXIF.
func xmpDegrees(text, positive, negative string) float64 {
	text = strings.ToUpper(strings.TrimSpace(text))
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		return value
	}
	direction := positive
	if end := strings.TrimRight(text, "NSEW"); end != text {
		text, direction = end, text[len(end):]
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	for n, part := range parts {
		over, under, is := strings.Cut(part, "/")
		x, err := strconv.ParseFloat(over, 64)
		y, wrong := strconv.ParseFloat(under, 64)
		if is && err == nil && wrong == nil {
			parts[n] = quotient(x, y)
		}
	}
	return exifDegrees(strings.Join(parts, " "), direction, positive, negative)
}

// An extendedXMP is the part of an XMP beyond the size of a JPEG segment. It comes in parts with offsets.
type extendedXMP struct {
	guid string
	data []byte
	got  int
}

// extend adds a part of an extended XMP: a GUID, the total length, the offset and the bytes.
func (p *pieces) extend(part []byte) {
	const guid, head = 32, 40
	if len(part) <= head {
		return
	}
	x := &p.extended
	length, at := int64(binary.BigEndian.Uint32(part[guid:])), int64(binary.BigEndian.Uint32(part[guid+4:]))
	part, id := part[head:], string(part[:guid])
	if x.data == nil {
		if !p.room(length) {
			return
		}
		x.guid, x.data = id, make([]byte, length)
		p.kept += int(length)
	}
	if id == x.guid && at+int64(len(part)) <= int64(len(x.data)) {
		x.got += copy(x.data[at:], part)
	}
}

// of returns the extension that a packet names, if it is complete.
func (x extendedXMP) of(packet []byte) []byte {
	if x.data == nil || x.got != len(x.data) || !bytes.Contains(packet, []byte(x.guid)) {
		return nil
	}
	return x.data
}
