//go:build exiftool

// Package exiftool compares the metadata that we find in images with that of exiftool: in files
// from real cameras and programs, and in files into which exiftool wrote every field, in every
// format.
//
//	go test -tags exiftool ./internal/test/exiftool -v
package exiftool

import (
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/HugoSmits86/nativewebp"
	"golang.org/x/image/tiff"

	"assetferry/internal/metadata"
)

// modules are the Go modules whose test data are images from real cameras and programs. Their code
// is not built.
var modules = []string{
	"github.com/bep/imagemeta@v1.0.1",
	"github.com/rwcarlsen/goexif@v0.0.0-20190401172101-9e8deecbddbd",
}

// disagreement returns why a field of a file legitimately differs from exiftool's, or an empty
// string.
func disagreement(file, field string) string {
	for _, known := range [...]struct{ file, fields, why string }{
		{"geodegrees_as_string.jpg", "latitude longitude exif.GPSLatitude exif.GPSLongitude exif.GPSTimeStamp", "degrees as text with commas, which exiftool adds up to another place than was meant"},
		{"2007-06-26-10-13-04-sep-2007-06-26-10-13-04a.jpg", "exif.ExposureTime", "exiftool knows that this camera writes it wrong"},
		{"issue-590.png", "latitude longitude", "degrees as fractions, of which exiftool takes those below the line for more parts"},
		{"infinite_loop_exif.jpg", "exif.XResolution", "it is made to be broken"},
		{"huge_tag_exif.jpg", "exif.ModifyDate", "it is made to be broken, and has the tag twice"},
		{"max_uint32_exif.jpg", "exif.ModifyDate", "the same"},
	} {
		if filepath.Base(file) == known.file && slices.Contains(strings.Fields(known.fields), field) {
			return known.why
		}
	}
	return ""
}

func TestRealFiles(t *testing.T) {
	var files []string
	for _, m := range modules {
		files = append(files, images(t, m)...)
	}
	files = fixed(t, files)
	said := exiftool(t, files)
	agreed, cameras := 0, map[string]bool{}
	for _, file := range files {
		is, ok := said[file]
		if !ok {
			t.Errorf("exiftool says nothing of %s", file)
		} else {
			agreed += compare(t, file, embedded(t, file), is)
			cameras[first(is.values("IFD0:Make"))+" "+first(is.values("IFD0:Model"))] = true
		}
	}
	t.Logf("%d fields of %d files from %d cameras agree", agreed, len(files), len(cameras))
	if agreed < 3000 || len(files) < 100 || len(cameras) < 50 {
		t.Errorf("there should be more of them")
	}
}

// images returns the images in a module.
func images(t *testing.T, module string) (files []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v\n%s", module, err, out)
	}
	var is struct{ Dir string }
	if err := json.Unmarshal(out, &is); err != nil {
		t.Fatal(err)
	}
	endings := []string{".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp", ".heic", ".heif", ".avif", ".dng", ".nef", ".cr2", ".arw", ".pef"}
	err = filepath.WalkDir(is.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains(endings, strings.ToLower(filepath.Ext(path))) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// fixed replaces truncated JPEG files that end after the metadata, and in which exiftool finds
// nothing, with complete ones.
func fixed(t *testing.T, files []string) []string {
	t.Helper()
	dir, all := t.TempDir(), []string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if whole := untilCut(content); whole != nil {
			file = filepath.Join(dir, filepath.Base(file))
			if err := os.WriteFile(file, append(whole, 0xff, 0xd9), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Contains(all, file) { // some modules have the same files
			all = append(all, file)
		}
	}
	return all
}

// untilCut returns the complete segments of a truncated JPEG file, or nil if a picture follows
// them.
func untilCut(content []byte) []byte {
	if !bytes.HasPrefix(content, []byte("\xff\xd8\xff")) {
		return nil
	}
	for at := 2; ; {
		if at+4 > len(content) || content[at] != 0xff {
			return content[:min(at, len(content))]
		}
		length := int(content[at+2])<<8 | int(content[at+3])
		if content[at+1] == 0xda || content[at+1] == 0xd9 {
			return nil
		} else if at+2+length > len(content) {
			return content[:at]
		}
		at += 2 + length
	}
}

// embedded reads a file in both ways, and verifies that they find the same.
func embedded(t *testing.T, file string) metadata.Found {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found, remarks, err := metadata.Embedded(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(remarks) > 0 {
		t.Logf("%s: %q", file, remarks)
	}
	var c metadata.Capture
	for part := range slices.Chunk(content, 1000) {
		c.Write(part)
	}
	if passed, _ := c.Found(); !c.Elsewhere() && passed.Encode() != found.Encode() {
		t.Errorf("%s: as it passes by, another thing is found: %s, and %s", file, passed.Encode(), found.Encode())
	}
	return found
}

// written returns the arguments with which exiftool writes each field.
func written(withIPTC bool) []string {
	args := []string{
		"-IFD0:ImageDescription=A quay in Ålesund,\nat night", "-IFD0:Artist=Ida Blåmyr; Ole", "-IFD0:Copyright=© 2019 Ida\nThe Paper", "-IFD0:Make=Maker", "-IFD0:Model=M 1",
		"-IFD0:XPTitle=Kai ⚓ Ж", "-IFD0:XPKeywords=quay;night", "-IFD0:XPComment=ein Kommentar", "-IFD0:Rating=3", "-ExifIFD:DateTimeOriginal=2019:07:21 14:03:22", "-ExifIFD:OffsetTimeOriginal=+02:00",
		"-ExifIFD:SubSecTimeOriginal=125", "-ExifIFD:UserComment=Größe Ж", "-ExifIFD:ExposureTime=1/250", "-ExifIFD:FNumber=2.8", "-ExifIFD:ISO=400", "-ExifIFD:LensModel=50mm F1.4",
		"-ExifIFD:LensInfo=18 55 3.5 5.6", "-ExifIFD:ExposureCompensation=-0.5", "-GPS:GPSLatitude=33.8599972", "-GPS:GPSLatitudeRef=S", "-GPS:GPSLongitude=151.2083333", "-GPS:GPSLongitudeRef=E", "-GPS:GPSAltitude=12.5",
		"-XMP-dc:Title=A quay", "-XMP-dc:Title-de=Ein Kai", "-XMP-dc:Description=Line one\nline two <&> “quoted”", "-XMP-dc:Subject=quay", "-XMP-dc:Subject=Nacht", "-XMP-dc:Creator=Ida", "-XMP-dc:Creator=Ole",
		"-XMP-dc:Rights=© Ida", "-XMP-photoshop:Headline=Boats", "-XMP-photoshop:Credit=The Paper", "-XMP-photoshop:Instructions=none", "-XMP-photoshop:City=Ålesund", "-XMP-photoshop:State=Møre", "-XMP-photoshop:Country=Norge",
		"-XMP-iptcCore:Location=the quay", "-XMP-iptcCore:AltTextAccessibility=Boats at a quay", "-XMP-photoshop:DateCreated=2019:07:21 14:03:22+02:00", "-XMP-xmp:Rating=4", "-XMP-xmp:CreateDate=2020:01:01 00:00:00",
		"-XMP-exif:GPSLatitude=59.9083333", "-XMP-exif:GPSLongitude=-10.7583333", "-XMP-iptcCore:CreatorCity=Bergen", "-XMP-photoshop:Urgency=3",
	}
	if withIPTC {
		args = append(args, "-IPTC:CodedCharacterSet=UTF8", "-IPTC:Caption-Abstract=Ein Kai\nbei Nacht", "-IPTC:ObjectName=Größe", "-IPTC:Headline=Boote", "-IPTC:Keywords=quay", "-IPTC:Keywords=Nacht", "-IPTC:By-line=Ida", "-IPTC:By-line=Ole",
			"-IPTC:Credit=Zeitung", "-IPTC:CopyrightNotice=© Ida", "-IPTC:SpecialInstructions=keine", "-IPTC:City=Ålesund", "-IPTC:Province-State=Møre", "-IPTC:Country-PrimaryLocationName=Norge", "-IPTC:Sub-location=am Kai",
			"-IPTC:DateCreated=2019:07:21", "-IPTC:TimeCreated=14:03:22+02:00", "-IPTC:By-lineTitle=Staff", "-IPTC:Urgency=5")
	}
	return args
}

// fieldsWritten returns how many of those fields we have to find, by metadata source.
func fieldsWritten(withIPTC bool) map[metadata.Source]int {
	n := map[metadata.Source]int{metadata.FromEXIF: 17, metadata.FromXMP: 18}
	if withIPTC {
		n[metadata.FromIPTC] = 15
	}
	return n
}

func TestEveryFieldInEveryFormat(t *testing.T) {
	dir := t.TempDir()
	picture := image.NewGray(image.Rect(0, 0, 8, 8))
	var j, p, tf, w bytes.Buffer
	for _, err := range []error{jpeg.Encode(&j, picture, nil), png.Encode(&p, picture), tiff.Encode(&tf, picture, nil), nativewebp.Encode(&w, picture, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	formats := map[string][]byte{"a.jpg": j.Bytes(), "a.png": p.Bytes(), "a.tif": tf.Bytes(), "a.webp": w.Bytes()}
	for _, file := range images(t, modules[0]) {
		switch filepath.Base(file) {
		case "iphone.heic", "sunset.avif": // no available program writes these
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			formats[filepath.Base(file)] = content
		}
	}
	if len(formats) != 6 {
		t.Fatalf("%d formats", len(formats))
	}
	for name, content := range formats {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
			withIPTC := slices.Contains([]string{".jpg", ".png", ".tif"}, filepath.Ext(name))
			write(t, file, "-all=")
			write(t, file, written(withIPTC)...)
			found := embedded(t, file)
			t.Logf("%d fields agree", compare(t, name, found, exiftool(t, []string{file})[file]))
			for from, n := range fieldsWritten(withIPTC) {
				if len(found[from]) < n {
					t.Errorf("%s: only %d fields, want %d: %v", from, len(found[from]), n, found[from])
				}
			}
		})
	}
}

// TestSidecar verifies that an XMP sidecar, as programs write it beside raw images, has the same
// metadata.
func TestSidecar(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.xmp")
	only := slices.DeleteFunc(written(false), func(arg string) bool { return !strings.HasPrefix(arg, "-XMP-") })
	write(t, file, only...)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fields, err := metadata.ReadSidecar(file, f)
	if err != nil {
		t.Fatal(err)
	}
	agreed := compare(t, "a.xmp", metadata.Found{metadata.FromXMP: fields}, exiftool(t, []string{file})[file])
	if agreed < 17 {
		t.Errorf("only %d fields: %v", agreed, fields)
	}
}

func write(t *testing.T, file string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "exiftool", slices.Concat([]string{"-q", "-m", "-overwrite_original", "-n", "-sep", "\x01"}, args, []string{file})...).CombinedOutput()
	if err != nil {
		t.Fatalf("exiftool: %v\n%s", err, out)
	}
}
