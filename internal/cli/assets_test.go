package cli

import (
	"errors"
	"fmt"
	"image"
	_ "image/gif" // to be told apart
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"assetferry/internal/metadata/imagetest"
)

// cmdID sets a variable to the ID of the asset at a place: id NAME PLACE
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

// cmdTwins makes another folder of a name in a category: twins CATEGORY FOLDER
func cmdTwins(ts *testscript.TestScript, _ bool, args []string) {
	s := serviceOf(ts)
	all, err := s.structure()
	ts.Check(err)
	for _, c := range all {
		if c.Name == args[0] {
			ts.Check(s.call("POST", "/folders", strings.NewReader(`{"categoryId":"`+c.ID+`","name":"`+args[1]+`"}`), "application/json", nil))
		}
	}
}

// A name may be as long as a file system allows: the one until the file is complete is
// longer otherwise.
func TestWriteNewLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("é", 125)+".jpg")
	if err := writeNew(path, false, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Error(err)
	}
}

// TestWriteNew leaves the file that was there, or none, after a failure, and no draft.
func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	cut := errors.New("cut")
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, werr := io.WriteString(w, s)
			return errors.Join(werr, err)
		}
	}
	for _, step := range []struct {
		write func(io.Writer) error
		force bool
		fails bool
		want  string // in the end; empty: no file
	}{
		{text("half", cut), false, true, ""},
		{text("one", nil), false, false, "one"},
		{text("two", nil), false, true, "one"},
		{text("half", cut), true, true, "one"},
		{text("two", nil), true, false, "two"},
	} {
		err := writeNew(path, step.force, step.write)
		got, _ := os.ReadFile(path)
		if (err != nil) != step.fails || string(got) != step.want {
			t.Errorf("got %v and %q, want %q", err, got, step.want)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "x" {
			t.Errorf("in the folder: %v (%v)", entries, err)
		}
	}
	// Somebody else may be faster.
	late := filepath.Join(dir, "late")
	err := writeNew(late, false, func(io.Writer) error { return os.WriteFile(late, []byte("theirs"), 0o600) })
	if got, _ := os.ReadFile(late); err == nil || string(got) != "theirs" {
		t.Errorf("got %v and %q", err, got)
	}
}

// cmdPicture makes an image of a size, a JPEG if that is its extension and else a PNG:
// picture NAME WIDTH HEIGHT
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

// cmdShot makes a JPEG with a packet of XMP in it, and in the name of a camera: shot NAME
// PACKET
func cmdShot(ts *testscript.TestScript, _ bool, args []string) {
	const exifMake, exifModel = 0x010f, 0x0110
	jpeg := imagetest.Embedded{
		EXIF: []imagetest.Entry{imagetest.ASCII(exifMake, "Maker"), imagetest.ASCII(exifModel, "Model"), imagetest.Taken("2019:07:21 14:03:22", ""), imagetest.Position(59, 54, 10, 45)},
		XMP:  ts.ReadFile(args[1]),
	}.JPEG()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), jpeg, 0o600))
}

// cmdSize prints the format and the size of a picture: size FILE
func cmdSize(ts *testscript.TestScript, _ bool, args []string) {
	c, format, err := image.DecodeConfig(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), format, c.Width, c.Height)
}
