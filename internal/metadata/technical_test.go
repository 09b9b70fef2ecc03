package metadata

import (
	"slices"
	"testing"
)

func TestIsTechnical(t *testing.T) {
	for field, want := range map[string]bool{
		"exif.XResolution": true, "exif.ColorSpace": true, "exif.ExposureTime": true, "exif.ExifImageWidth": true,
		"exif.Make": true, "exif.LensModel": true, "xmp.tiff:Orientation": true, "xmp.exif:FNumber": true, "xmp.exifEX:LensModel": true,
		"xmp.aux:Lens":      true,
		"exif.UserComment":  false, // written by people
		"exif.ImageHistory": false,
		"exif.OwnerName":    false, "exif.GPSLatitude": false, "exif.GPSAltitude": false,
		"xmp.my:Model": false, "iptc.Category": false, "Model": false, "": false,
	} {
		if got := IsTechnical(field); got != want {
			t.Errorf("%q: got %v", field, got)
		}
	}
	for n, tag := range technicalTags {
		if slices.Contains(technicalTags[:n], tag) {
			t.Errorf("%s is listed twice", tag)
		}
	}
}
