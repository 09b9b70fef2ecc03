package metadata

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"assetferry/internal/metadata/imagetest"
)

// allocated returns the number of bytes that f allocates in total.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongNamesTakeLittle verifies that a malicious file in which a long name applies to every
// value takes little memory. With one copy of the name for each value, a file of one megabyte would
// take ten thousand times its size.
func TestLongNamesTakeLittle(t *testing.T) {
	const values = 1000
	long := strings.Repeat("x", 100<<10)
	object, properties := `{"`+long+`": {`, strings.Repeat("<q:a>1</q:a>", values)
	for n := range values {
		object += fmt.Sprintf(`"%d": 1, `, n)
	}
	packet := func(space, content string) string {
		return `<rdf:RDF xmlns:rdf="` + rdfSpace + `" xmlns:q="` + space + `"><rdf:Description>` + content + `</rdf:Description></rdf:RDF>`
	}
	for name, text := range map[string]string{
		"a.json":    object + `"a": 1}}`,
		"name.xmp":  packet("q", "<q:"+long+"><rdf:Description>"+properties+"</rdf:Description></q:"+long+">"),
		"space.xmp": strings.ReplaceAll(packet(long, strings.ReplaceAll(properties, "q:", "")), "xmlns:q", "xmlns"),
	} {
		var fields Fields
		took := allocated(func() { fields, _ = ReadSidecar(name, strings.NewReader(text)) })
		if len(fields) > 0 || took > values*uint64(len(long))/4 {
			t.Errorf("%s: took %d bytes for %d fields", name, took, len(fields))
		}
	}
}

// TestHEIFOfManyDescriptions verifies that only a limited number of the items in a HEIF is read.
func TestHEIFOfManyDescriptions(t *testing.T) {
	const more = 2 * maxItems
	is := items{describes: map[uint64][]uint64{}}
	infe := imagetest.Box("infe", "\x02\x00\x00\x00", imagetest.BE16(7), imagetest.BE16(0), "Exif")
	is.infos(&boxReader{data: []byte("\x00\x00\x00\x00\x00\x00" + strings.Repeat(infe, more))})
	cdsc := imagetest.Box("cdsc", imagetest.BE16(7), imagetest.BE16(more-1), strings.Repeat(imagetest.BE16(9), more-1))
	is.references(&boxReader{data: []byte("\x00\x00\x00\x00" + strings.Repeat(cdsc, 3))})
	if len(is.exif) > maxDescriptions || len(is.describes[7]) > maxItems {
		t.Errorf("%d items of EXIF, of which one describes %d", len(is.exif), len(is.describes[7]))
	}
}

// TestSpacedProfile verifies that a hexadecimal profile in a PNG takes memory for its digits only,
// not for the spaces between them.
func TestSpacedProfile(t *testing.T) {
	text := strings.Repeat("4 ", maxPieces/4)
	p := &pieces{}
	if took := allocated(func() { p.pngProfile([]byte("\nexif\n 9\n" + text)) }); took > 8*uint64(len(text)) {
		t.Errorf("took %d bytes for %d", took, len(text))
	}
}
