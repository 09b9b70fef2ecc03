package cli

import (
	"errors"
	"fmt"
	"image"
	_ "image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assetferry/internal/metadata/imagetest"

	"github.com/rogpeppe/go-internal/testscript"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

// cmdID sets a variable to the ID of the asset at a path: id NAME PLACE
func cmdID(ts *testscript.TestScript, _ bool, args []string) {
	all, err := serviceOf(ts).assets()
	ts.Check(err)
	for _, a := range all {
		if a.place() == args[1] {
			ts.Setenv(args[0], a.id)
			return
		}
	}
	ts.Fatalf("there is no asset at %s", args[1])
}

// cmdDuplicateFolder adds another folder with the same name to a category: duplicate-folder
// CATEGORY FOLDER
func cmdDuplicateFolder(ts *testscript.TestScript, _ bool, args []string) {
	s := serviceOf(ts)
	all, err := s.structure()
	ts.Check(err)
	for _, c := range all {
		if c.Name == args[0] {
			ts.Check(s.call("POST", "/folders", strings.NewReader(`{"categoryId":"`+c.ID+`","name":"`+args[1]+`"}`), "application/json", nil))
		}
	}
}

// cmdPicture writes an image of a size, as JPEG or PNG according to its extension: picture NAME
// WIDTH HEIGHT
func cmdPicture(ts *testscript.TestScript, _ bool, args []string) {
	width, err := strconv.Atoi(args[1])
	ts.Check(err)
	height, err := strconv.Atoi(args[2])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	picture := image.NewGray(image.Rect(0, 0, width, height))
	if filepath.Ext(args[0]) == ".jpg" {
		err = jpeg.Encode(f, picture, nil)
	} else {
		err = png.Encode(f, picture)
	}
	ts.Check(errors.Join(err, f.Close()))
}

// cmdShot writes a JPEG with an XMP packet and a camera name in its EXIF: shot NAME PACKET
func cmdShot(ts *testscript.TestScript, _ bool, args []string) {
	const exifMake, exifModel = 0x010f, 0x0110
	jpeg := imagetest.Embedded{
		EXIF: []imagetest.Entry{imagetest.ASCII(exifMake, "Maker"), imagetest.ASCII(exifModel, "Model"), imagetest.Taken("2019:07:21 14:03:22", ""), imagetest.Position(59, 54, 10, 45)},
		XMP:  ts.ReadFile(args[1]),
	}.JPEG()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), jpeg, 0o600))
}

// cmdSize prints the format and the size of an image: size FILE
func cmdSize(ts *testscript.TestScript, _ bool, args []string) {
	c, format, err := image.DecodeConfig(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), format, c.Width, c.Height)
}
