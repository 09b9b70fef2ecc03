package demo

import (
	"encoding/binary"
	"image"
)

// An exif is the EXIF metadata of a photo.
type exif struct {
	photo
	orientation uint16
	size        image.Point // as stored
}

// A place is somewhere north of the equator and east of Greenwich.
type place struct {
	north, east angle
}

// An angle is degrees, minutes and hundredths of seconds.
type angle [3]uint32

// The types of TIFF fields that are used here.
const (
	typeByte      = 1
	typeASCII     = 2
	typeShort     = 3
	typeLong      = 4
	typeRational  = 5
	typeUndefined = 7
)

// A field is one entry of an image file directory.
type field struct {
	tag, kind uint16
	count     uint32
	value     []byte
}

func asciiField(tag uint16, s string) field {
	return field{tag, typeASCII, uint32(len(s) + 1), append([]byte(s), 0)}
}

func shortField(tag, v uint16) field {
	return field{tag, typeShort, 1, binary.BigEndian.AppendUint16(nil, v)}
}

func longField(tag uint16, v int) field {
	return field{tag, typeLong, 1, binary.BigEndian.AppendUint32(nil, uint32(v))}
}

// rationalField takes numerators and denominators in turn.
func rationalField(tag uint16, parts ...uint32) field {
	var value []byte
	for _, p := range parts {
		value = binary.BigEndian.AppendUint32(value, p)
	}
	return field{tag, typeRational, uint32(len(parts) / 2), value}
}

// withEXIF puts an APP1 segment behind the start marker of a JPEG file, where
// readers look for it first.
func withEXIF(jpeg []byte, e exif) []byte {
	payload := append([]byte("Exif\x00\x00"), e.tiff()...)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(payload)+2))
	out := append([]byte{}, jpeg[:2]...)
	out = append(out, segment...)
	out = append(out, payload...)
	return append(out, jpeg[2:]...)
}

// tiff returns the directories in sequence: the main one, which points to the others, then those of
// the camera and of the GPS coordinates.
func (e exif) tiff() []byte {
	const header = 8
	cameraAt := header + directorySize(e.mainFields(0, 0)) // where it points to does not change its size
	placeAt := cameraAt + directorySize(e.cameraFields())

	out := binary.BigEndian.AppendUint32([]byte("MM\x00*"), header)
	out = appendDirectory(out, e.mainFields(cameraAt, placeAt))
	out = appendDirectory(out, e.cameraFields())
	if e.place != nil {
		out = appendDirectory(out, e.placeFields())
	}
	return out
}

// Fields of a directory ascend by tag.

func (e exif) mainFields(cameraAt, placeAt int) []field {
	var fields []field
	if e.description != "" {
		fields = append(fields, asciiField(0x010e, e.description)) // ImageDescription
	}
	fields = append(fields,
		asciiField(0x010f, e.make),                                // Make
		asciiField(0x0110, e.model),                               // Model
		shortField(0x0112, e.orientation),                         // Orientation
		rationalField(0x011a, 72, 1),                              // XResolution
		rationalField(0x011b, 72, 1),                              // YResolution
		shortField(0x0128, 2),                                     // ResolutionUnit: inch
		asciiField(0x0132, e.taken.Format("2006:01:02 15:04:05")), // DateTime
		longField(0x8769, cameraAt),                               // where the camera's directory is
	)
	if e.place != nil {
		fields = append(fields, longField(0x8825, placeAt)) // where the place's directory is
	}
	return fields
}

func (e exif) cameraFields() []field {
	return []field{
		rationalField(0x829a, 1, 250),                             // ExposureTime
		rationalField(0x829d, 56, 10),                             // FNumber
		shortField(0x8827, 200),                                   // PhotographicSensitivity
		{0x9000, typeUndefined, 4, []byte("0232")},                // ExifVersion
		asciiField(0x9003, e.taken.Format("2006:01:02 15:04:05")), // DateTimeOriginal
		asciiField(0x9011, e.taken.Format("-07:00")),              // OffsetTimeOriginal
		rationalField(0x920a, 35, 1),                              // FocalLength
		shortField(0xa001, 1),                                     // ColorSpace: sRGB
		longField(0xa002, e.size.X),                               // PixelXDimension
		longField(0xa003, e.size.Y),                               // PixelYDimension
	}
}

func (e exif) placeFields() []field {
	degrees := func(tag uint16, a angle) field {
		return rationalField(tag, a[0], 1, a[1], 1, a[2], 100)
	}
	return []field{
		{0, typeByte, 4, []byte{2, 3, 0, 0}}, // GPSVersionID
		asciiField(1, "N"),
		degrees(2, e.place.north), // GPSLatitude
		asciiField(3, "E"),
		degrees(4, e.place.east), // GPSLongitude
	}
}

// directorySize returns the length in bytes of a directory with its values.
func directorySize(fields []field) int { return len(appendDirectory(nil, fields)) }

// appendDirectory writes a directory at the end of a TIFF file: its fields, no
// next directory, then the values that are too long for their fields.
func appendDirectory(out []byte, fields []field) []byte {
	valuesAt := len(out) + 2 + 12*len(fields) + 4
	var values []byte
	out = binary.BigEndian.AppendUint16(out, uint16(len(fields)))
	for _, f := range fields {
		out = binary.BigEndian.AppendUint16(out, f.tag)
		out = binary.BigEndian.AppendUint16(out, f.kind)
		out = binary.BigEndian.AppendUint32(out, f.count)
		if len(f.value) <= 4 {
			var inline [4]byte
			copy(inline[:], f.value)
			out = append(out, inline[:]...)
			continue
		}
		out = binary.BigEndian.AppendUint32(out, uint32(valuesAt+len(values)))
		values = append(values, f.value...)
		if len(values)%2 == 1 { // values begin at even offsets
			values = append(values, 0)
		}
	}
	out = binary.BigEndian.AppendUint32(out, 0)
	return append(out, values...)
}
