package cli

import (
	"crypto/sha256"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"assetferry/internal/metadata"
	"assetferry/internal/metadata/imagetest"
)

// Tags of EXIF fields.
const (
	exifCaption   = 0x010e
	exifMake      = 0x010f
	exifCreator   = 0x013b
	exifCopyright = 0x8298
	exifTitle     = 0x9c9b
)

// xmpPacket returns an XMP packet with a body.
func xmpPacket(body string) string {
	return `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:Iptc4xmpCore="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/">` + "\n" + body + "\n" + `</rdf:Description></rdf:RDF></x:xmpmeta>`
}

// xmpText returns an XMP property in one language. xmpList returns one with several values.
func xmpText(name, text string) string {
	return fmt.Sprintf(`<%s><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></%[1]s>`, name, text)
}

func xmpList(name string, values ...string) string {
	return fmt.Sprintf("<%s><rdf:Bag><rdf:li>%s</rdf:li></rdf:Bag></%[1]s>", name, strings.Join(values, "</rdf:li><rdf:li>"))
}

// Data set numbers of IPTC.
const (
	iptcTitle    = 5
	iptcTag      = 25
	iptcCreator  = 80
	iptcHeadline = 105
	iptcCredit   = 110
	iptcCaption  = 120
)

func iptcSet(number byte, value string) string { return imagetest.DataSet(2, number, value) }

// iptcUTF8 returns the data set that declares the character set UTF-8.
func iptcUTF8() string { return imagetest.DataSet(1, 90, "\x1b%G") }

// A richLibrary is a library with metadata of every kind, for a directory and for a bucket.
type richLibrary struct {
	files  tree
	table  string                       // CSV
	lines  string                       // the same as JSON Lines
	kept   map[string]map[string]string // user metadata in the bucket, by key
	tagged map[string]string            // tags of objects in the bucket, by key
}

// newRichLibrary returns the library.
func newRichLibrary() *richLibrary {
	l := &richLibrary{files: tree{}, kept: map[string]map[string]string{}, tagged: map[string]string{}}
	l.embedded()
	l.sidecars()
	l.placed()
	l.pairs()
	return l
}

// embedded adds images with embedded metadata, in every format.
func (l *richLibrary) embedded() {
	l.files["shoot/one.jpg"] = string(imagetest.Embedded{
		EXIF: []imagetest.Entry{
			imagetest.ASCII(exifCaption, "caption of EXIF"), imagetest.ASCII(exifMake, "Maker"), imagetest.ASCII(exifCreator, "creator of EXIF"),
			imagetest.ASCII(exifCopyright, "© Ida Blåmyr"), imagetest.Taken("2019:07:21 14:03:22", "+02:00"), imagetest.Position(59, 54, 10, 45),
		},
		IPTC: iptcUTF8() + iptcSet(iptcTitle, "title of IPTC") + iptcSet(iptcHeadline, "Schiffe im Größenvergleich") + iptcSet(iptcCaption, "caption of IPTC") +
			iptcSet(iptcTag, "sea") + iptcSet(iptcTag, "night") + iptcSet(iptcCreator, "Ida") + iptcSet(iptcCreator, "Ole"),
		XMP: xmpPacket(xmpText("dc:title", "船 at a quay") + xmpText("Iptc4xmpCore:AltTextAccessibility", "Two ships &amp; a quay") + "<photoshop:Urgency>3</photoshop:Urgency>"),
	}.JPEG())
	l.files["shoot/noon.png"] = string(imagetest.Embedded{
		EXIF: []imagetest.Entry{imagetest.ASCII(exifCreator, "creator of EXIF"), imagetest.Taken("2020:01:02 12:00:00", "")},
		IPTC: iptcSet(iptcCredit, "The Paper"),
		XMP:  xmpPacket("<xmp:Rating>4</xmp:Rating>" + xmpList("dc:creator", "Ida", "Ole") + xmpList("dc:subject", "noon", "sun, high")),
	}.PNG())
	l.files["scan/page.tiff"] = string(imagetest.Embedded{
		EXIF: []imagetest.Entry{imagetest.ASCII(exifCopyright, "nobody")},
		IPTC: iptcSet(iptcCaption, "A page"),
		XMP:  xmpPacket(xmpText("dc:title", "title of XMP") + "<photoshop:City>Bergen</photoshop:City>"),
	}.TIFF())
	l.files["web/banner.webp"] = string(imagetest.Embedded{
		EXIF: []imagetest.Entry{imagetest.ASCII(exifCopyright, "The Shop")},
		XMP:  xmpPacket(xmpText("dc:description", "A caption is no description")),
	}.WebP())
	l.files["phone/IMG_0001.heic"] = string(imagetest.Embedded{
		EXIF: []imagetest.Entry{imagetest.Taken("2021:05:06 07:08:09", "-03:00")},
		XMP:  xmpPacket(xmpText("dc:title", "On the way")),
	}.HEIF())
}

// sidecars adds sidecars of every kind.
func (l *richLibrary) sidecars() {
	l.files["scan/page.tiff.yaml"] = "Title: title of the sidecar\nkeywords: [page, Seite ß]\nattributes:\n  Shelf: 12b\n"
	l.files["web/banner.webp.yml"] = "alt: A banner\ndescription: ''\n"
	l.files["phone/IMG_0001.heic.supplemental-metadata.json"] = `{"title": "IMG_0001.HEIC", "description": "Ferry", "photoTakenTime": {"timestamp": "1620295689"},
		"geoData": {"latitude": -34.6, "longitude": -58.38}, "people": [{"name": "Ida"}, {"name": "José"}]}`
	l.files["agency/deal.jpg"] = "a deal"
	l.files["agency/deal.jpg.json"] = `{"description": "overruled by the table", "tags": ["deal", "2019"], "client": "Sidecar & Sons", "attributes": {"Rights holder": "Agency", "Uses": "print"}, "markets": ["NO", "SE"]}`
	l.files["agency/raw.jpg"] = "raw"
	l.files["agency/raw.xmp"] = xmpPacket(xmpText("dc:description", "of the stem") + xmpText("dc:title", "overruled by the table") + xmpList("dc:subject", "raw"))
	l.files["agency/full.jpg"] = "full"
	l.files["agency/full.jpg.XMP"] = xmpPacket("<photoshop:Instructions>Not before noon</photoshop:Instructions>")
	l.files["agency/bad.jpg"] = string(imagetest.Embedded{EXIF: []imagetest.Entry{imagetest.ASCII(exifCaption, "still there")}}.JPEG())
	l.files["agency/bad.jpg.json"] = brokenSidecar
	l.files["long/long.txt"] = "long"
	l.files["long/long.txt.json"] = `{"description": "` + strings.Repeat("word ", 300) + `", "kept": "this"}`
}

// placed adds objects that rules place elsewhere, and objects with unusual names.
func (l *richLibrary) placed() {
	l.files["secret/plans/plan.pdf"] = "a plan"
	l.files["secret/plans/plan.pdf.json"] = `{"description": "Not for everybody"}`
	l.files["dump/public/press/a&b 100%.txt"] = "odd"
	l.files["dump/public/press/a&b 100%.txt.yaml"] = "tags: [\"50% off\", \"a;b\"]\n\"Größe in €\": \"<12>\"\n"
	l.files["dump/public/été/#1 'ü' + x.txt"] = "odd, too"
	l.files["tags/tagged.txt"] = "tagged"
	l.files["tags/tagged.txt.json"] = `{"tags": ["Sea|boats", "draft", "quay"]}`
	l.files["caption/says.jpg"] = string(imagetest.Embedded{IPTC: iptcSet(iptcCaption, "Says who it is")}.JPEG())
	l.files["names/Old Name (1).txt"] = "renamed"
	l.files["skip/this.txt"] = "left out"
	l.files["plain.txt"] = "nothing is known of it"
	l.table = "key,description,tags,title,Rights holder\n" +
		"agency/deal.jpg,\"The deal, \"\"signed\"\"\",,,\n" +
		"agency/raw.jpg,,,title of the table,Table\n" +
		"names/Old Name (1).txt,Ένα όνομα,one;two,,\n"
	l.lines = `{"key": "agency/deal.jpg", "description": "The deal, \"signed\""}` + "\n" +
		`{"key": "agency/raw.jpg", "attributes": {"title": "title of the table", "Rights holder": "Table"}}` + "\n" +
		`{"key": "names/Old Name (1).txt", "description": "Ένα όνομα", "tags": ["one", "two"]}` + "\n"
}

// pairs adds an object for each pair of metadata sources. Both contain a title for it.
func (l *richLibrary) pairs() {
	all := metadata.Precedence()
	for n, one := range all {
		for _, other := range all[n+1:] {
			key := pairOf(one, other)
			var e imagetest.Embedded
			for _, from := range []metadata.Source{one, other} {
				title := "said by " + string(from)
				switch from {
				case metadata.FromTable:
					l.table += key + ",,," + title + ",\n"
					l.lines += fmt.Sprintf(`{"key": %q, "attributes": {"title": %q}}`+"\n", key, title)
				case metadata.FromSidecar:
					l.files[key+".json"] = fmt.Sprintf(`{"title": %q}`, title)
				case metadata.FromStorage:
					l.kept[key] = map[string]string{"Title": title}
				case metadata.FromXMP:
					e.XMP = xmpPacket(xmpText("dc:title", title))
				case metadata.FromIPTC:
					e.IPTC = iptcSet(iptcTitle, title)
				case metadata.FromEXIF:
					e.EXIF = []imagetest.Entry{imagetest.UTF16(exifTitle, title)}
				}
			}
			l.files[key] = string(e.JPEG())
		}
	}
}

func pairOf(one, other metadata.Source) string { return fmt.Sprintf("pairs/%s and %s.jpg", one, other) }

// arrivingRules is the configuration for migrations of the library.
const arrivingRules = `unsupported: create
mapping:
  rules:
    - when: hasPrefix(key, "shoot/")
      category: Photos
      folder: shoots/${ date(created, "YYYY/MM") }
    - when: hasPrefix(key, "secret/")
      category: Vault
      private: true
      folder: ${ trimPrefix(folder, "secret/") }
    - when: hasPrefix(key, "dump/public/")
      folder: ${ trimPrefix(folder, "dump/public/") }
    - when: hasPrefix(key, "tags/")
      split_tags: "|"
      rename_tags: {sea: Ocean}
      drop_tags: draft
      add_tags: [archive, '${ ext }']
    - when: has("exif.Make")
      attributes:
        Camera: by ${ field("exif.Make") }
    - when: hasPrefix(key, "caption/")
      description: ${ caption }
      attributes:
        caption: ~
    - when: hasPrefix(key, "names/")
      name: ${ slug(name) }
    - when: hasPrefix(key, "skip/")
      skip: true
`

// bucket stores the library in a bucket, with the metadata that only buckets have. All objects are
// one hour old.
func (l *richLibrary) bucket(t *testing.T) (*bucket, gofakes3.TimeSourceAdvancer) {
	t.Helper()
	clock := gofakes3.FixedTimeSource(time.Now().Add(-time.Hour))
	b := startBucket(t, "photos", s3mem.WithTimeSource(clock))
	l.kept["plain.txt"] = map[string]string{"Description": "kept with ☃", "Cost-Center": "42"}
	for key, content := range l.files {
		l.put(t, b, key, content)
		b.tag(key)
	}
	b.tag("plain.txt", "Status", "free")
	return b, clock
}

// put stores an object of the library in the bucket.
func (l *richLibrary) put(t *testing.T, b *bucket, key, content string) {
	t.Helper()
	headers := map[string]string{}
	for name, value := range l.kept[key] {
		headers["X-Amz-Meta-"+name] = mime.QEncoding.Encode("utf-8", value)
	}
	_, err := b.backend.PutObject(b.name, key, headers, strings.NewReader(content), int64(len(content)), nil)
	if err != nil {
		t.Fatal(err)
	}
}

// write writes the library, its metadata table and its configuration to a directory.
func (l *richLibrary) write(t *testing.T, dir string) {
	t.Helper()
	l.files.write(t, filepath.Join(dir, "lib"))
	tree{"assetferry.yaml": arrivingRules, "table.csv": l.table, "table.jsonl": l.lines}.write(t, dir)
}

// edit replaces a text in a file.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, new)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func checksumOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// readTree returns the files below a directory.
func readTree(t *testing.T, root string) tree {
	t.Helper()
	all := tree{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(root, path)
		all[filepath.ToSlash(key)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// brokenSidecar has a syntax error in line 3.
const brokenSidecar = "{\n  \"description\": \"never\",\n  \"tags\": [,]\n}"
