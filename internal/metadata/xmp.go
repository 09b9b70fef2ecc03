package metadata

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
)

// An xmpReader reads the properties of an XMP packet, which is RDF in XML, by their usual names: "dc:title",
// or "Iptc4xmpCore:CreatorContactInfo/Iptc4xmpCore:CiAdrCity" for a nested one.
type xmpReader struct {
	d          *xml.Decoder
	prefixes   map[string]string // declared in the packet
	properties []xmpProperty
	depth      int
	found      bool // there is RDF
}

type xmpProperty struct{ name, value string }

const (
	rdfSpace = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	xmlSpace = "http://www.w3.org/XML/1998/namespace"

	// maxXMPDepth is the maximum nesting of elements. The XML reader keeps all open elements.
	maxXMPDepth = 64
)

var (
	errXMPDeep = fmt.Errorf("elements are nested more than %d levels deep", maxXMPDepth)
	errNoRDF   = errors.New("it is not XMP: there is no rdf:RDF element")
)

// parseXMP reads the properties of a packet, in order.
func parseXMP(packet []byte) ([]xmpProperty, *xml.Decoder, error) {
	r := &xmpReader{d: xml.NewDecoder(bytes.NewReader(inUTF8(packet))), prefixes: map[string]string{}}
	r.d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it was converted to UTF-8
	err := r.packet()
	if err == nil && !r.found {
		err = errNoRDF
	}
	return r.properties, r.d, err
}

// inUTF8 converts a packet in any Unicode encoding to UTF-8.
func inUTF8(packet []byte) []byte {
	packet = bytes.Trim(packet, "\x00")
	order, ordered := unicode.BigEndian, bytes.HasPrefix(packet, []byte("\xfe\xff")) || bytes.HasPrefix(packet, []byte("\x00<"))
	if bytes.HasPrefix(packet, []byte("\xff\xfe")) || bytes.HasPrefix(packet, []byte("<\x00")) {
		order, ordered = unicode.LittleEndian, true
	}
	if ordered {
		packet, _ = unicode.UTF16(order, unicode.UseBOM).NewDecoder().Bytes(packet)
	}
	return bytes.TrimPrefix(packet, []byte("\xef\xbb\xbf"))
}

// packet reads up to the end of the element with the RDF. Only space follows.
func (r *xmpReader) packet() error {
	for {
		t, err := r.d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if e, ok := t.(xml.StartElement); ok {
			if err := r.outside(e); err != nil || r.found {
				return err
			}
		}
	}
}

// outside searches an element for the RDF.
func (r *xmpReader) outside(e xml.StartElement) error {
	r.note(e)
	if r.found {
		return r.ignore(e)
	} else if e.Name != (xml.Name{Space: rdfSpace, Local: "RDF"}) {
		return r.inside(r.outside)
	}
	r.found = true
	return r.inside(func(e xml.StartElement) error { return r.node("", e) })
}

// ignore skips an element.
func (r *xmpReader) ignore(xml.StartElement) error { return r.inside(r.ignore) }

// note records the prefixes that an element declares.
func (r *xmpReader) note(e xml.StartElement) {
	for _, a := range e.Attr {
		if a.Name.Space == "xmlns" {
			r.prefixes[a.Value] = a.Name.Local
		}
	}
}

// inside reads the child elements up to the end of their parent.
func (r *xmpReader) inside(each func(xml.StartElement) error) error {
	_, err := r.content(each)
	return err
}

// content reads the child elements, and returns the text between them.
func (r *xmpReader) content(each func(xml.StartElement) error) (string, error) {
	if r.depth++; r.depth > maxXMPDepth {
		return "", errXMPDeep
	}
	defer func() { r.depth-- }()
	var text strings.Builder
	for {
		t, err := r.d.Token()
		if errors.Is(err, io.EOF) {
			return "", io.ErrUnexpectedEOF
		} else if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			return text.String(), nil
		case xml.StartElement:
			r.note(t)
			if err := each(t); err != nil {
				return "", err
			}
		}
	}
}

// node reads a description, which has properties.
func (r *xmpReader) node(within string, e xml.StartElement) error {
	r.attributes(within, e)
	return r.inside(func(e xml.StartElement) error { return r.property(r.name(within, e.Name), e) })
}

// attributes reads the properties that are written as attributes.
func (r *xmpReader) attributes(within string, e xml.StartElement) {
	for _, a := range e.Attr {
		switch a.Name.Space {
		case "", "xmlns", xmlSpace, "xml", rdfSpace:
		default:
			r.say(r.name(within, a.Name), a.Value)
		}
	}
}

func (r *xmpReader) say(name, value string) {
	if value = legible(value); value != "" && name != "" && len(r.properties) < 2*maxValues {
		r.properties = append(r.properties, xmpProperty{name, value})
	}
}

// property reads the value of a property: text, a URI, a list or nested properties.
func (r *xmpReader) property(name string, e xml.StartElement) error {
	if name == "" {
		return r.ignore(e)
	}
	r.attributes(name, e)
	for _, a := range e.Attr {
		if a.Name == (xml.Name{Space: rdfSpace, Local: "resource"}) {
			r.say(name, a.Value)
		}
	}
	structured := false
	text, err := r.content(func(e xml.StartElement) error {
		structured = true
		if e.Name.Space != rdfSpace {
			return r.property(r.name(name, e.Name), e)
		}
		switch e.Name.Local {
		case "Description":
			return r.node(name, e)
		case "Alt":
			return r.alternatives(name)
		case "Bag", "Seq":
			return r.inside(func(e xml.StartElement) error { return r.property(name, e) })
		case "value":
			return r.property(name, e)
		}
		return r.ignore(e)
	})
	if !structured {
		r.say(name, text)
	}
	return err
}

// alternatives reads a text in several languages, and adds the default or else the first.
func (r *xmpReader) alternatives(name string) error {
	before := len(r.properties)
	var first, meant []xmpProperty
	err := r.inside(func(e xml.StartElement) error {
		defer func() { r.properties = r.properties[:before] }()
		if err := r.property(name, e); err != nil {
			return err
		}
		is := append([]xmpProperty(nil), r.properties[before:]...)
		if first == nil {
			first = is
		}
		if meant == nil && isDefault(e) {
			meant = is
		}
		return nil
	})
	if meant == nil {
		meant = first
	}
	r.properties = append(r.properties, meant...)
	return err
}

func isDefault(e xml.StartElement) bool {
	for _, a := range e.Attr {
		if a.Name.Local == "lang" && strings.EqualFold(a.Value, "x-default") {
			return true
		}
	}
	return false
}

// name returns the usual name of a property, alone or within another one. It is "" if it is too long,
// because it would be repeated for all nested properties.
func (r *xmpReader) name(within string, n xml.Name) string {
	if len(n.Space) > maxUnmapped || len(within)+len(n.Local) > maxUnmapped {
		return ""
	}
	prefix := xmpPrefix(n.Space)
	if prefix == "" {
		prefix = r.prefixes[n.Space]
	}
	if prefix == "" {
		prefix = n.Space
	}
	name := prefix + ":" + n.Local
	if within != "" {
		return within + "/" + name
	}
	return name
}

// xmpPrefix returns the usual prefix of a namespace; a packet may declare another one.
func xmpPrefix(space string) string {
	switch space {
	case "http://purl.org/dc/elements/1.1/":
		return "dc"
	case "http://ns.adobe.com/photoshop/1.0/":
		return "photoshop"
	case "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/":
		return "Iptc4xmpCore"
	case "http://iptc.org/std/Iptc4xmpExt/2008-02-29/":
		return "Iptc4xmpExt"
	case "http://ns.adobe.com/xap/1.0/":
		return "xmp"
	case "http://ns.adobe.com/xap/1.0/rights/":
		return "xmpRights"
	case "http://ns.adobe.com/xap/1.0/mm/":
		return "xmpMM"
	case "http://ns.adobe.com/xmp/note/":
		return "xmpNote"
	case "http://ns.adobe.com/exif/1.0/":
		return "exif"
	case "http://cipa.jp/exif/1.0/":
		return "exifEX"
	case "http://ns.adobe.com/tiff/1.0/":
		return "tiff"
	case "http://ns.adobe.com/exif/1.0/aux/":
		return "aux"
	case "http://ns.adobe.com/lightroom/1.0/":
		return "lr"
	case "http://ns.adobe.com/camera-raw-settings/1.0/":
		return "crs"
	case "http://ns.useplus.org/ldf/xmp/1.0/":
		return "plus"
	case "http://ns.microsoft.com/photo/1.0/":
		return "MicrosoftPhoto"
	case "http://www.digikam.org/ns/1.0/":
		return "digiKam"
	}
	return ""
}
