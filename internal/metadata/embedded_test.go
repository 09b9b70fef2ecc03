package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata/imagetest"
)

// sampleEXIF returns the EXIF directory of a usual image.
func sampleEXIF(order binary.AppendByteOrder) []imagetest.Entry {
	return []imagetest.Entry{
		imagetest.ASCII(0x010e, "A quay\nat night  "),
		imagetest.ASCII(0x010f, "Maker\x00\x00\x00"),
		{Tag: 0x011a, Kind: tiffRational, Value: imagetest.Rationals(order, 0, 300, 1).Value},
		imagetest.ASCII(0x013b, "Ida Blåmyr"),
		{Tag: 0x8298, Kind: tiffASCII, Value: []byte("© Ida\x00The Paper\x00")},
		{Tag: tagEXIF, Kind: 4, Value: make([]byte, 4), Below: []imagetest.Entry{
			imagetest.ASCII(0x9003, "2019:07:21 14:03:22"),
			imagetest.ASCII(0x9011, "+02:00"),
			imagetest.ASCII(0x9291, "125"),
			imagetest.Rationals(order, 0x829a, 1, 250),
			{Tag: 0x927c, Kind: tiffUndefined, Value: []byte("a camera's own")},
			{Tag: 0x9286, Kind: tiffUndefined, Value: append([]byte("UNICODE\x00"), order.AppendUint16(order.AppendUint16(nil, 'Ж'), 'o')...)},
		}},
		{Tag: tagGPS, Kind: 4, Value: make([]byte, 4), Below: []imagetest.Entry{
			imagetest.ASCII(1, "S"),
			imagetest.Rationals(order, 2, 33, 1, 51, 1, 3599, 100),
			imagetest.ASCII(3, "E"),
			imagetest.Rationals(order, 4, 151, 1, 125, 10, 0, 1),
			imagetest.Rationals(order, 6, 0, 0),
		}},
		imagetest.UTF16(0x9c9b, "Kai ⚓"),
		imagetest.UTF16(0x9c9e, "quay;night; ;"),
	}
}

func wantEXIF() Fields {
	return Fields{
		"caption": {"A quay\nat night"}, "creator": {"Ida Blåmyr"}, "copyright": {"© Ida\nThe Paper"}, "title": {"Kai ⚓"},
		"tags": {"quay", "night"}, "created": {"2019-07-21T14:03:22.125+02:00"}, "latitude": {"-33.8599972"}, "longitude": {"151.2083333"},
		"exif.Make": {"Maker"}, "exif.XResolution": {"300"}, "exif.ExposureTime": {"0.004"}, "exif.UserComment": {"Жo"}, "exif.GPSAltitude": {"undef"},
	}
}

var sampleIPTC = imagetest.DataSet(1, 90, "\x1b%G") + imagetest.DataSet(2, 0, "\x00\x04") + imagetest.DataSet(2, 120, "Ein Kai\r\nbei Nacht") + imagetest.DataSet(2, 5, "Größe") +
	imagetest.DataSet(2, 25, "quay") + imagetest.DataSet(2, 25, "night") + imagetest.DataSet(2, 25, "quay") + imagetest.DataSet(2, 80, "Ida") + imagetest.DataSet(2, 80, "Ole") +
	imagetest.DataSet(2, 55, "20190721") + imagetest.DataSet(2, 60, "140322+0200") + imagetest.DataSet(2, 101, "Norge") + imagetest.DataSet(2, 95, " ") + imagetest.DataSet(2, 85, "Staff") +
	"\x1c\x02\x69\x80\x04\x00\x00\x00\x09" + "Hard news" + "\x00\x00"

func wantIPTC() Fields {
	return Fields{
		"caption": {"Ein Kai\nbei Nacht"}, "title": {"Größe"}, "tags": {"quay", "night"}, "creator": {"Ida", "Ole"},
		"created": {"2019-07-21T14:03:22+02:00"}, "country": {"Norge"}, "headline": {"Hard news"}, "iptc.By-lineTitle": {"Staff"},
	}
}

const sampleXMP = `<?xpacket begin="` + "\ufeff" + `" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:ps="http://ns.adobe.com/photoshop/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:made="http://example.com/made-up/" xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
 ps:Headline="A &amp; B" xmp:Rating="4" ps:DateCreated="2019-07-21T14:03:22.5+02:00" xmp:CreateDate="2020-01-01" ps:Urgency="3" made:Up="yes" crs:Tint="+4"
 exif:GPSLatitude="59,54.5N" exif:GPSLongitude="10,45,30W"/>
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:c="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/">
<dc:title><rdf:Alt><rdf:li xml:lang="de">Ein Kai</rdf:li><rdf:li xml:lang="x-default">A quay</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="nb">En kai</rdf:li></rdf:Alt></dc:description>
<dc:subject><rdf:Bag><rdf:li>quay</rdf:li><rdf:li> night </rdf:li><rdf:li/></rdf:Bag></dc:subject>
<dc:creator><rdf:Seq><rdf:li>Ida</rdf:li><rdf:li>Ole</rdf:li></rdf:Seq></dc:creator>
<dc:rights>Free</dc:rights>
<c:AltTextAccessibility><rdf:Alt><rdf:li xml:lang="x-default">Boats at a quay</rdf:li></rdf:Alt></c:AltTextAccessibility>
<c:CreatorContactInfo rdf:parseType="Resource"><c:CiAdrCity>Bergen</c:CiAdrCity></c:CreatorContactInfo>
<c:Source rdf:resource="https://example.com/1"/>
</rdf:Description></rdf:RDF></x:xmpmeta>   <?xpacket end="w"?>`

func wantXMP() Fields {
	return Fields{
		"headline": {"A & B"}, "rating": {"4"}, "created": {"2019-07-21T14:03:22.5+02:00"}, "xmp.xmp:CreateDate": {"2020-01-01"},
		"xmp.photoshop:Urgency": {"3"}, "xmp.made:Up": {"yes"}, "latitude": {"59.9083333"}, "longitude": {"-10.7583333"},
		"title": {"A quay"}, "caption": {"En kai"}, "tags": {"quay", "night"}, "creator": {"Ida", "Ole"}, "copyright": {"Free"},
		"alt": {"Boats at a quay"}, "xmp.Iptc4xmpCore:CreatorContactInfo/Iptc4xmpCore:CiAdrCity": {"Bergen"}, "xmp.Iptc4xmpCore:Source": {"https://example.com/1"},
	}
}

// An embeddedCase is an image and its expected metadata.
type embeddedCase struct {
	name    string
	content []byte
	want    Found
}

func embeddedCases() []embeddedCase {
	le, be := binary.LittleEndian, binary.BigEndian
	exif, xmp := string(imagetest.TIFF(le, false, sampleEXIF(le))), sampleXMP
	all := Found{FromEXIF: wantEXIF(), FromIPTC: wantIPTC(), FromXMP: wantXMP()}
	noIPTC := Found{FromEXIF: wantEXIF(), FromXMP: wantXMP()}
	irb := imagetest.Resources(sampleIPTC)
	return []embeddedCase{
		{"jpeg", imagetest.JPEG(imagetest.Segment(jpegAPP1, exifHeader+"\x00", exif), imagetest.Segment(jpegAPP1, xmpHeader, xmp), imagetest.Segment(jpegAPP13, irbHeader, irb)), all},
		{"jpeg, resources in two segments, another order, and bytes that fill", imagetest.JPEG(imagetest.Segment(jpegAPP13, irbHeader, irb[:20]), []byte("\xff\xff\xff"), imagetest.Segment(jpegAPP13, irbHeader, irb[20:]),
			imagetest.Segment(jpegAPP1, xmpHeader, xmp), []byte("\xff\xd0"), imagetest.Segment(jpegAPP1, exifHeader+"\xff", exif)), all},
		{"jpeg, first of several", imagetest.JPEG(imagetest.Segment(jpegAPP1, exifHeader+"\x00", exif), imagetest.Segment(jpegAPP1, exifHeader+"\x00", string(imagetest.TIFF(le, false, []imagetest.Entry{imagetest.ASCII(0x010e, "other")})))), Found{FromEXIF: wantEXIF()}},
		{"jpeg, the header of an agency", imagetest.JPEG(imagetest.Segment(jpegAPP1, "XMP\x00://ns.adobe.com/xap/1.0/\x00", xmp)), Found{FromXMP: wantXMP()}},
		{"png", imagetest.PNG(imagetest.Chunk("eXIf", exif), imagetest.Chunk("iTXt", pngXMP+"\x00\x00\x00\x00\x00"+xmp), imagetest.Profile("iptc", []byte(irb))), all},
		{"png, compressed and as profiles", imagetest.PNG(imagetest.Profile("exif", []byte(exifHeader+"\x00"+exif)), imagetest.Chunk("iTXt", pngXMP+"\x00\x01\x00en\x00words\x00"+imagetest.Deflated(xmp)), imagetest.Profile("iptc", []byte(sampleIPTC))), all},
		{"png, xmp as a profile", imagetest.PNG(imagetest.Profile("xmp", []byte(xmp)), imagetest.Profile("APP1", []byte(exif))), noIPTC},
		{"webp", imagetest.WebP(imagetest.RIFF("EXIF", []byte(exif)), imagetest.RIFF("ALPH", []byte("x")), imagetest.RIFF("XMP ", []byte(xmp))), noIPTC},
		{"webp, exif as in jpeg", imagetest.WebP(imagetest.RIFF("XMP ", []byte(xmp)), imagetest.RIFF("EXIF", []byte(exifHeader+"\x00"+exif))), noIPTC},
		{"tiff", imagetest.TIFF(be, false, withOthers(be, irb)), all},
		{"bigtiff", imagetest.TIFF(le, true, withOthers(le, irb)), all},
		{"heif", imagetest.HEIF([]byte(exif), []byte(xmp)), noIPTC},
		{"no image", []byte(strings.Repeat("text that is no image", 100)), nil},
		{"next to nothing", []byte("\xff\xd8\xff"), nil},
		{"nothing", nil, nil},
	}
}

func withOthers(order binary.AppendByteOrder, irb string) []imagetest.Entry {
	return append(sampleEXIF(order), imagetest.Entry{Tag: tagXMP, Kind: 1, Value: []byte(sampleXMP)}, imagetest.Entry{Tag: tagPhotoshop, Kind: 1, Value: []byte(irb)})
}

func TestEmbedded(t *testing.T) {
	for _, test := range embeddedCases() {
		found, remarks, err := Embedded(bytes.NewReader(test.content), int64(len(test.content)))
		if diff := cmp.Diff(test.want, found); err != nil || len(remarks) > 0 || diff != "" {
			t.Errorf("%s: %v, remarks %q\n%s", test.name, err, remarks, diff)
		}
	}
}

func TestCaptureFindsTheSame(t *testing.T) {
	for _, test := range embeddedCases() {
		elsewhere := slices.Contains([]string{"tiff", "bigtiff", "heif"}, test.name)
		for _, part := range []int{1, 7, 1000, 1 << 20} {
			found, remarks, asked := capture(test.content, part)
			if asked != elsewhere {
				t.Errorf("%s: elsewhere is %t", test.name, asked)
			}
			if diff := cmp.Diff(test.want, found); !elsewhere && (diff != "" || len(remarks) > 0) {
				t.Errorf("%s, %d bytes at a time: remarks %q\n%s", test.name, part, remarks, diff)
			}
		}
	}
}

// capture writes content in parts of a given size, from a reused buffer.
func capture(content []byte, part int) (Found, []string, bool) {
	var c Capture
	buffer := make([]byte, part)
	for len(content) > 0 {
		n := copy(buffer, content)
		content = content[n:]
		c.Write(buffer[:n])
	}
	found, remarks := c.Found()
	return found, remarks, c.Elsewhere()
}

// TestEmbeddedCutOff verifies that a truncated image gives the values before the end, and no wrong
// value.
func TestEmbeddedCutOff(t *testing.T) {
	for _, test := range embeddedCases() {
		for n := 0; n < len(test.content); n += 1 + len(test.content)/300 {
			found, _, err := Embedded(bytes.NewReader(test.content[:n]), int64(n))
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", test.name, n, err)
			}
			for from, fields := range found {
				for name, values := range fields {
					if want := test.want[from][name]; from != FromIPTC && !isPartOf(values, want) && !strings.HasPrefix(name, "exif.") && name != "created" {
						t.Errorf("%s, %d bytes: %s %s is %q, want %q", test.name, n, from, name, values, want)
					}
				}
			}
		}
	}
}

func isPartOf(values, want []string) bool {
	for _, v := range values {
		if !slices.Contains(want, v) {
			return false
		}
	}
	return true
}

func TestEmbeddedRemarksOnWhatIsBroken(t *testing.T) {
	le := binary.LittleEndian
	deep := strings.Repeat("<a:b><rdf:Description>", 40)
	for _, test := range []struct {
		name    string
		content []byte
		remark  string
	}{
		{"a directory of more than there is", imagetest.JPEG(imagetest.Segment(jpegAPP1, exifHeader+"\x00II*\x00\x08\x00\x00\x00\xff\x00")), "EXIF not read, or only partly: it is incomplete"},
		{"a directory of too much", imagetest.JPEG(imagetest.Segment(jpegAPP1, exifHeader+"\x00II*\x00\x08\x00\x00\x00\xff\xff")), "claims to have 65535 entries"},
		{"a value beyond the end", imagetest.JPEG(imagetest.Segment(jpegAPP1, exifHeader+"\x00", string(imagetest.TIFF(le, false, []imagetest.Entry{imagetest.ASCII(0x010e, "caption")})[:30]))), "points beyond its end"},
		{"no tiff", imagetest.JPEG(imagetest.Segment(jpegAPP1, exifHeader+"\x00nonsense")), "does not begin like a TIFF"},
		{"xml", imagetest.WebP(imagetest.RIFF("XMP ", []byte("<x:xmpmeta><rdf:RDF"))), "XMP not read, or only partly"},
		{"no rdf", imagetest.WebP(imagetest.RIFF("XMP ", []byte("<x:xmpmeta/>"))), "no rdf:RDF"},
		{"deep", imagetest.WebP(imagetest.RIFF("XMP ", []byte(`<rdf:RDF xmlns:rdf="`+rdfSpace+`"><rdf:Description>`+deep))), "nested more than 64 levels deep"},
		{"deep outside", imagetest.WebP(imagetest.RIFF("XMP ", []byte(strings.Repeat("<a>", 100)))), "nested more than 64 levels deep"},
		{"iptc", imagetest.JPEG(imagetest.Segment(jpegAPP13, irbHeader, imagetest.Resources(imagetest.DataSet(2, 5, "a")+"\x1c\x02\x05\x10\x00"))), "IPTC not read, or only partly: it is incomplete"},
		{"a segment without length", append([]byte("\xff\xd8"), "\xff\xe0\x00\x00, and what follows"...), "has no length"},
		{"a bomb", imagetest.PNG(imagetest.Chunk("iTXt", pngXMP+"\x00\x01\x00\x00\x00"+imagetest.Deflated(strings.Repeat("\x00", maxPieces+1)))), "larger than 8 MiB"},
		{"more than is kept", imagetest.PNG(imagetest.Chunk("eXIf", strings.Repeat("x", maxPieces+1))), "more than 8 MiB"},
		{"a profile", imagetest.PNG(imagetest.Chunk("tEXt", "Raw profile type exif\x00\nexif\n 2\nxx")), "invalid byte"},
		{"heif", []byte(imagetest.Box("ftyp", "heic\x00\x00\x00\x00") + imagetest.BE32(100) + "meta"), "the HEIF is damaged"},
	} {
		found, remarks, err := Embedded(bytes.NewReader(test.content), int64(len(test.content)))
		if err != nil || len(remarks) == 0 || !strings.Contains(remarks[0], test.remark) {
			t.Errorf("%s: found %v, %v, remarks %q, want %q", test.name, found, err, remarks, test.remark)
		}
		again, same, elsewhere := capture(test.content, 100)
		if !elsewhere && (!reflect.DeepEqual(again, found) || !reflect.DeepEqual(same, remarks)) {
			t.Errorf("%s: as it passes by %v, remarks %q", test.name, again, same)
		}
	}
}

func TestEmbeddedReportsReadErrors(t *testing.T) {
	failure := errors.New("the disk fails")
	for _, test := range embeddedCases() {
		if len(test.content) < 100 || test.want == nil {
			continue
		}
		for from := range 3 {
			r := &failingReader{Reader: bytes.NewReader(test.content), after: from, err: failure}
			if _, _, err := Embedded(r, int64(len(test.content))); !errors.Is(err, failure) {
				t.Errorf("%s, failing after %d reads: %v", test.name, from, err)
			}
		}
		if _, _, err := Embedded(bytes.NewReader(test.content[:50]), int64(len(test.content))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s, shorter than it was: %v", test.name, err)
		}
	}
}

type failingReader struct {
	*bytes.Reader
	after int
	err   error
}

func (r *failingReader) ReadAt(p []byte, at int64) (int, error) {
	if r.after--; r.after < 0 {
		return 0, r.err
	}
	return r.Reader.ReadAt(p, at)
}

func TestExtendedXMP(t *testing.T) {
	const guid = "0123456789ABCDEF0123456789ABCDEF"
	main := strings.Replace(sampleXMP, `xmp:Rating`, `xmlns:n="http://ns.adobe.com/xmp/note/" n:HasExtendedXMP="`+guid+`" xmp:Rating`, 1)
	more := `<rdf:RDF xmlns:rdf="` + rdfSpace + `"><rdf:Description xmlns:p="http://ns.adobe.com/photoshop/1.0/" p:City="Bergen"/></rdf:RDF>`
	part := func(at, end int) []byte {
		return imagetest.Segment(jpegAPP1, moreXMPHeader, guid, imagetest.BE32(len(more)), imagetest.BE32(at), more[at:end])
	}
	for _, test := range []struct {
		segments [][]byte
		city     []string
	}{
		{[][]byte{part(0, 50), part(50, len(more))}, []string{"Bergen"}},
		{[][]byte{part(50, len(more)), part(0, 50)}, []string{"Bergen"}},
		{[][]byte{part(0, 50)}, nil}, // incomplete
	} {
		found, remarks, _ := capture(imagetest.JPEG(append([][]byte{imagetest.Segment(jpegAPP1, xmpHeader, main)}, test.segments...)...), 64)
		if got := found[FromXMP]; !slices.Equal(got["city"], test.city) || !slices.Equal(got["rating"], []string{"4"}) || len(remarks) > 0 {
			t.Errorf("%d parts: %v, remarks %q", len(test.segments), got, remarks)
		}
	}
}

func TestMoments(t *testing.T) {
	for written, want := range map[string]string{
		"2019:07:21 14:03:22": "2019-07-21T14:03:22", "2019:07:21 14:03:22+02:00": "2019-07-21T14:03:22+02:00",
		"2019-07-21T14:03:22.50Z": "2019-07-21T14:03:22.5Z", "2019-07-21T14:03": "2019-07-21T14:03:00", "2019-07-21T14:03-05:00": "2019-07-21T14:03:00-05:00",
		"2015-01-22T00:00:00 +00:00": "2015-01-22T00:00:00Z", "2019-07-21": "2019-07-21", "2019:07": "2019-07", "2019": "2019",
		"0000:00:00 00:00:00": "", "    :  :     :  :  ": "", "": "", "2019:13:40 00:00:00": "", "yesterday": "", "0000:01:01 00:00:00": "",
	} {
		if got := moment(written); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}

func TestXMPDegrees(t *testing.T) {
	for text, want := range map[string]float64{
		"26,34.951N": 26.5825167, "26,34,57N": 26.5825, "26.5825s": -26.5825, "-80.2002": -80.2002, "55/1 54/1 4074/100": 55.9113167, "55/1,30/1,0/1S": -55.5,
		"": math.NaN(), "N": math.NaN(), "1,2,3,4N": math.NaN(), "26,34E": math.NaN(), "1/0": math.NaN(), "here": math.NaN(), "26 34NS": math.NaN(),
	} {
		if got := xmpDegrees(text, "N", "S"); math.Abs(got-want) > 1e-6 || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestIPTCText(t *testing.T) {
	said := imagetest.DataSet(1, 90, "\x1b%G")
	for _, test := range []struct{ name, data, want string }{
		{"in UTF-8, and says so", said + imagetest.DataSet(2, 5, "Größe"), "Größe"},
		{"in UTF-8, and does not", imagetest.DataSet(2, 5, "Größe"), "Größe"},
		{"in Latin-1", imagetest.DataSet(2, 5, "Gr\xf6\xdfe \x96 \x80"), "Größe – €"},
		{"says UTF-8, and is not", said + imagetest.DataSet(2, 5, "Gr\xf6\xdfe"), "Größe"},
		{"filled with zeros", imagetest.DataSet(2, 5, "Quay\x00\x00\x00"), "Quay"},
	} {
		fields, _ := readIPTC([]byte(test.data))
		if got := strings.Join(fields["title"], "|"); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if fields, err := readIPTC([]byte(swapped(imagetest.DataSet(2, 5, "Quay at sea")))); err != nil || !slices.Equal(fields["title"], []string{"Quay at sea"}) {
		t.Errorf("in another order of bytes: %v, %v", fields, err)
	}
}

func swapped(data string) string {
	b := []byte(data)
	for word := b; len(word) >= 4; word = word[4:] {
		slices.Reverse(word[:4])
	}
	return string(b)
}

func TestIPTCDates(t *testing.T) {
	for _, test := range []struct{ date, clock, want string }{
		{"20190721", "140322+0200", "2019-07-21T14:03:22+02:00"},
		{"20190721", "140322", "2019-07-21T14:03:22"},
		{"2019-07-21", "14:03:22", "2019-07-21T14:03:22"},
		{"20190721", "", "2019-07-21"},
		{"20190721", "noon", "2019-07-21"},
		{"20190700", "", "2019-07"},
		{"19990000", "", "1999"},
		{"00000000", "", ""},
		{"", "140322", ""},
	} {
		fields, err := readIPTC([]byte(imagetest.DataSet(2, 55, test.date) + imagetest.DataSet(2, 60, test.clock)))
		if got := first(fields["created"]); got != test.want || err != nil {
			t.Errorf("%s %s: got %q, %v, want %q", test.date, test.clock, got, err, test.want)
		}
	}
}

// FuzzEmbedded verifies that damaged content causes no panic, and that a Capture returns the same
// as random access.
func FuzzEmbedded(f *testing.F) {
	for _, test := range embeddedCases() {
		f.Add(test.content, uint16(10))
	}
	f.Fuzz(func(t *testing.T, content []byte, part uint16) {
		found, remarks, err := Embedded(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeFound(found.Encode()); err != nil {
			t.Fatal(err)
		}
		again, same, elsewhere := capture(content, 1+int(part))
		if !elsewhere && (!reflect.DeepEqual(found, again) || !reflect.DeepEqual(remarks, same)) {
			t.Fatalf("found %v, remarks %q\nas it passes by %v, %q", found, remarks, again, same)
		}
	})
}

// FuzzXMP verifies that any packet is read, or is an error.
func FuzzXMP(f *testing.F) {
	f.Add([]byte(sampleXMP))
	f.Add([]byte("\xff\xfe<\x00a\x00/\x00>\x00"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		fields, err := readXMP(packet, nil)
		if fields.Normal() == nil && err == nil && bytes.Contains(packet, []byte("dc:title>A quay<")) {
			t.Fatal("nothing was found, and nothing is wrong")
		}
	})
}

func BenchmarkCapture(b *testing.B) {
	le := binary.LittleEndian
	const size = 32 << 20
	picture := []byte(strings.Repeat("picture ", size/8))
	var chunks [][]byte
	for range size / 8192 {
		chunks = append(chunks, imagetest.Chunk("IDAT", string(picture[:8192])))
	}
	exif := string(imagetest.TIFF(le, false, sampleEXIF(le)))
	for name, content := range map[string][]byte{
		"text": picture,
		"jpeg": append(imagetest.JPEG(imagetest.Segment(jpegAPP1, exifHeader+"\x00", exif), imagetest.Segment(jpegAPP1, xmpHeader, sampleXMP)), picture...),
		"png":  imagetest.PNG(append(chunks, imagetest.Chunk("eXIf", exif))...),
		"webp": imagetest.WebP(imagetest.RIFF("VP8 ", picture), imagetest.RIFF("EXIF", []byte(exif))),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				var c Capture
				for part := range slices.Chunk(content, 64<<10) {
					c.Write(part)
				}
				c.Found()
			}
		})
	}
}
