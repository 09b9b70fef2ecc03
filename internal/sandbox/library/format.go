package library

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// functions returns the functions for templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"base":         func() string { return base },
		"workspaceURL": workspaceURL, "searchURL": searchURL, "trashURL": trashURL,
		"categoryURL": categoryURL, "foldersURL": foldersURL, "folderURL": folderURL,
		"assetURL": assetURL, "thumbnailURL": thumbnailURL, "previewURL": previewURL,
		"fileURL": fileURL, "revisionURL": revisionURL,
		"size": size, "count": count, "number": number, "day": day, "moment": moment, "iso": iso,
		"fileName": fileName, "alt": alt, "kind": kindOf, "label": label, "box": box, "opens": opens, "playable": playable,
		"join": strings.Join, "level": level, "indent": indent,
	}
}

// size formats a number of bytes.
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

// number formats a non-negative whole number with thousands separators.
func number(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// count formats a number with a noun in the singular or plural.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

func day(t time.Time) string    { return t.Local().Format("2006-01-02") }
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
func iso(t time.Time) string    { return t.UTC().Format(time.RFC3339) }

// fileName returns the name of an asset with its extension.
func fileName(a Asset) string {
	if a.Extension == "" {
		return a.Name
	}
	return a.Name + "." + a.Extension
}

// alt returns the alternative text for an image.
func alt(a Asset) string {
	if a.Description != "" {
		return a.Description
	}
	return fileName(a)
}

// kindOf returns the kind of an asset.
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

// label returns the text shown instead of an image.
func label(a Asset) string {
	if a.Extension == "" {
		return "file"
	}
	return strings.ToLower(a.Extension)
}

// opens reports whether the page may link a file: a browser must not open content that it could
// execute.
func opens(contentType string) bool {
	switch {
	case contentType == "image/svg+xml":
		return false
	case strings.HasPrefix(contentType, "image/"), playable(contentType):
		return true
	}
	return contentType == "text/plain" || contentType == "application/pdf"
}

// A dimension is the size of an image in pixels.
type dimension struct{ Width, Height int }

// box returns the size of an image scaled to fit into a square.
func box(a Asset, side int) dimension {
	d := dimension{a.Width, a.Height}
	if longest := max(d.Width, d.Height); longest > side {
		d.Width = max(1, (d.Width*side+longest/2)/longest)
		d.Height = max(1, (d.Height*side+longest/2)/longest)
	}
	return d
}

// level returns the depth of a folder, from 1.
func level(f Folder) int { return len(f.Around) + 1 }

// indent returns the level, limited by the available space.
func indent(f Folder) int { return min(level(f), 9) }
