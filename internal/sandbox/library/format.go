package library

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// functions are what templates know.
func functions() template.FuncMap {
	return template.FuncMap{
		"base":             func() string { return base },
		"workspaceAddress": workspaceAddress, "searchAddress": searchAddress, "trashAddress": trashAddress,
		"categoryAddress": categoryAddress, "foldersAddress": foldersAddress, "folderAddress": folderAddress,
		"assetAddress": assetAddress, "thumbnailAddress": thumbnailAddress, "previewAddress": previewAddress,
		"fileAddress": fileAddress, "revisionAddress": revisionAddress,
		"size": size, "count": count, "number": number, "day": day, "moment": moment, "iso": iso,
		"fileName": fileName, "alt": alt, "kind": kindOf, "label": label, "box": box, "opens": opens, "playable": playable,
		"join": strings.Join, "level": level, "indent": indent,
	}
}

// size is a number of bytes to read.
func size(bytes int64) string {
	if bytes < 1000 {
		return number(bytes) + " B"
	}
	f := float64(bytes)
	for _, unit := range []string{"kB", "MB", "GB", "TB"} {
		if f /= 1000; f < 999.95 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f PB", f/1000)
}

// number separates the thousands of a whole number, which is not negative.
func number(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// count names what is counted, in the plural if it takes that.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

func day(t time.Time) string    { return t.Local().Format("2006-01-02") }
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
func iso(t time.Time) string    { return t.UTC().Format(time.RFC3339) }

// fileName is the name of an asset as a file has it.
func fileName(a Asset) string {
	if a.Extension == "" {
		return a.Name
	}
	return a.Name + "." + a.Extension
}

// alt says what is to be seen on a picture.
func alt(a Asset) string {
	if a.Description != "" {
		return a.Description
	}
	return fileName(a)
}

// kindOf says in a word what an asset is.
func kindOf(a Asset) string {
	major, minor, _ := strings.Cut(a.Type, "/")
	switch {
	case a.Type == "image/svg+xml", major == "text", minor == "json", minor == "xml", minor == "yaml":
		return "text"
	case major == "image", major == "video", major == "audio", major == "font":
		return major
	case minor == "zip", minor == "gzip", minor == "x-tar", minor == "x-7z-compressed":
		return "archive"
	case minor == "octet-stream":
		return "other"
	}
	return "document"
}

// label is what is shown instead of a picture.
func label(a Asset) string {
	if a.Extension == "" {
		return "file"
	}
	return strings.ToLower(a.Extension)
}

// opens reports whether an address of a file may be followed: what a browser would
// run, it must not get to open.
func opens(contentType string) bool {
	switch {
	case contentType == "image/svg+xml":
		return false
	case strings.HasPrefix(contentType, "image/"), playable(contentType):
		return true
	}
	return contentType == "text/plain" || contentType == "application/pdf"
}

// A dimension is how large a picture comes out.
type dimension struct{ Width, Height int }

// box shrinks an image to a square, as the picture is.
func box(a Asset, side int) dimension {
	d := dimension{a.Width, a.Height}
	if longest := max(d.Width, d.Height); longest > side {
		d.Width = max(1, (d.Width*side+longest/2)/longest)
		d.Height = max(1, (d.Height*side+longest/2)/longest)
	}
	return d
}

// level is how deep a folder lies, from 1.
func level(f Folder) int { return len(f.Around) + 1 }

// indent is level as far as there is room for it.
func indent(f Folder) int { return min(level(f), 9) }
