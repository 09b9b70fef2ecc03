package demo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"strings"
	"testing"
)

// A directory contains the values that a reader finds, by tag.
type directory map[uint16]any

// readEXIF reads EXIF metadata. It shares no code with the writer.
func readEXIF(t *testing.T, file []byte) (main, camera, place directory) {
	t.Helper()
	if !bytes.HasPrefix(file, []byte{0xff, 0xd8, 0xff, 0xe1}) {
		t.Fatalf("begins with % x", file[:4])
	}
	length := int(binary.BigEndian.Uint16(file[4:]))
	segment := file[6 : 4+length]
	if next := file[4+length]; next != 0xff {
		t.Fatalf("the segment ends in the middle of something: %x", next)
	}
	tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00"))
	if !ok || string(tiff[:4]) != "MM\x00*" {
		t.Fatalf("segment begins with %q", segment[:10])
	}
	main = readDirectory(t, tiff, binary.BigEndian.Uint32(tiff[4:]))
	camera = readDirectory(t, tiff, main[0x8769].([]uint32)[0])
	if at, ok := main[0x8825]; ok {
		place = readDirectory(t, tiff, at.([]uint32)[0])
	}
	return main, camera, place
}

func readDirectory(t *testing.T, tiff []byte, at uint32) directory {
	t.Helper()
	d := make(directory)
	last := -1
	n := uint32(binary.BigEndian.Uint16(tiff[at:]))
	for i := range n {
		entry := tiff[at+2+12*i:]
		tag, kind, count := binary.BigEndian.Uint16(entry), binary.BigEndian.Uint16(entry[2:]), binary.BigEndian.Uint32(entry[4:])
		if int(tag) <= last {
			t.Errorf("tag %#x after %#x", tag, last)
		}
		last = int(tag)
		unit, ok := map[uint16]uint32{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1}[kind]
		if !ok {
			t.Fatalf("tag %#x has the type %d", tag, kind)
		}
		value := entry[8:]
		if unit*count > 4 {
			offset := binary.BigEndian.Uint32(value)
			if offset%2 != 0 {
				t.Errorf("the value of tag %#x is at the odd offset %d", tag, offset)
			}
			value = tiff[offset:]
		}
		value = value[:unit*count]
		switch kind {
		case 2:
			d[tag] = strings.TrimSuffix(string(value), "\x00")
		case 1, 7:
			d[tag] = string(value)
		default:
			var numbers []uint32
			for len(value) > 0 {
				if kind == 3 {
					numbers = append(numbers, uint32(binary.BigEndian.Uint16(value)))
					value = value[2:]
				} else {
					numbers = append(numbers, binary.BigEndian.Uint32(value))
					value = value[4:]
				}
			}
			d[tag] = numbers
		}
	}
	if next := binary.BigEndian.Uint32(tiff[at+2+12*n:]); next != 0 {
		t.Errorf("a next directory at %d", next)
	}
	return d
}

func TestEXIFOfAPhoto(t *testing.T) {
	files := written(t)
	main, camera, place := readEXIF(t, files["photos/2024/harbour/harbour-01.jpg"])
	for _, c := range []struct{ name, got, want string }{
		{"ImageDescription", fmt.Sprint(main[0x010e]), "Harbour at first light"},
		{"Make", fmt.Sprint(main[0x010f]), "Northlight"},
		{"Model", fmt.Sprint(main[0x0110]), "NL-7 Mark II"},
		{"Orientation", fmt.Sprint(main[0x0112]), "[1]"},
		{"ExifVersion", fmt.Sprint(camera[0x9000]), "0232"},
		{"DateTimeOriginal", fmt.Sprint(camera[0x9003]), "2024:05:03 05:40:00"},
		{"OffsetTimeOriginal", fmt.Sprint(camera[0x9011]), "+02:00"},
		{"PixelXDimension", fmt.Sprint(camera[0xa002]), "[1600]"},
		{"GPSLatitudeRef", fmt.Sprint(place[1]), "N"},
		{"GPSLatitude", fmt.Sprint(place[2]), "[53 1 32 1 3412 100]"},
		{"GPSLongitudeRef", fmt.Sprint(place[3]), "E"},
		{"GPSLongitude", fmt.Sprint(place[4]), "[9 1 57 1 5804 100]"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %s, want %s", c.name, c.got, c.want)
		}
	}
}

func TestEXIFOfEveryPhoto(t *testing.T) {
	files := written(t)
	photos, places, turned := 0, 0, 0
	for name, content := range files {
		if !strings.EqualFold(name[len(name)-4:], ".jpg") || name == "photos/2025/broken.jpg" {
			continue
		}
		photos++
		main, camera, place := readEXIF(t, content)
		size, err := jpeg.DecodeConfig(bytes.NewReader(content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := fmt.Sprint(camera[0xa002], camera[0xa003]), fmt.Sprintf("[%d] [%d]", size.Width, size.Height); got != want {
			t.Errorf("%s: says it is %s, is %s", name, got, want)
		}
		if main[0x010f] == "" || camera[0x9003] == "" || camera[0x9011] == "" {
			t.Errorf("%s: %v %v", name, main, camera)
		}
		if place != nil {
			places++
		}
		if fmt.Sprint(main[0x0112]) == "[6]" {
			turned++
			if size.Width <= size.Height {
				t.Errorf("%s should lie on its side", name)
			}
		}
	}
	if photos < 30 || places != 2 || turned != 4 {
		t.Errorf("%d photos, %d with a place, %d turned", photos, places, turned)
	}
}
