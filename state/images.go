package state

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// defaultImage is the service's name of the image in its own format and full width.
const defaultImage = "default"

// imageBase returns the usual common part of the URLs of an asset's images, given the URL of its
// file.
func imageBase(url string) (string, bool) {
	base, ok := strings.CutSuffix(url, "/file")
	return base + "/images/", ok
}

// packImages returns a compact JSON array of the URLs of images: a number is a width with the usual
// URL, a text the usual part of the default URL, and an object has all other URLs. Without URLs it
// is nil.
func packImages(url string, images map[string]string) (any, error) {
	if len(images) == 0 {
		return nil, nil
	}
	base, usual := imageBase(url)
	var widths []int64
	var others []any
	rest := map[string]string{}
	for name, url := range images {
		last, ok := strings.CutPrefix(url, base)
		width, err := strconv.ParseInt(name, 10, 64)
		switch {
		case usual && ok && name == defaultImage:
			others = append(others, last)
		case usual && ok && err == nil && name == strconv.FormatInt(width, 10) && last == webp(width):
			widths = append(widths, width)
		default:
			rest[name] = url
		}
	}
	if len(rest) > 0 {
		others = append(others, rest)
	}
	slices.Sort(widths)
	packed := make([]any, len(widths), len(widths)+len(others))
	for n, width := range widths {
		packed[n] = width
	}
	text, err := json.Marshal(append(packed, others...))
	return string(text), err
}

func webp(width int64) string { return strconv.FormatInt(width, 10) + ".webp" }

// unpackImages reverses packImages.
func unpackImages(url string, packed sql.NullString) (map[string]string, error) {
	if !packed.Valid {
		return nil, nil
	}
	base, _ := imageBase(url)
	widths, others := cutWidths(packed.String)
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(others), &parts); err != nil {
		return nil, fmt.Errorf("URLs of images: %w", err)
	}
	images := make(map[string]string, len(widths)+len(parts))
	for _, width := range widths {
		images[width] = base + width + ".webp"
	}
	for _, part := range parts {
		if err := unpackPart(base, part, images); err != nil {
			return nil, fmt.Errorf("URLs of images: %w", err)
		}
	}
	return images, nil
}

// cutWidths splits the widths off the beginning of a JSON array, and returns an array of the rest.
// Most images have only widths, so they need no parser.
func cutWidths(packed string) (widths []string, rest string) {
	rest = strings.TrimPrefix(packed, "[")
	for {
		width, after, more := strings.Cut(rest, ",")
		if !more || width == "" || strings.Trim(width, "0123456789") != "" {
			return widths, "[" + rest
		}
		widths, rest = append(widths, width), after
	}
}

func unpackPart(base string, part json.RawMessage, images map[string]string) (err error) {
	switch part[0] {
	case '{':
		err = json.Unmarshal(part, &images)
	case '"':
		var last string
		err = json.Unmarshal(part, &last)
		images[defaultImage] = base + last
	default:
		var width int64
		err = json.Unmarshal(part, &width)
		images[strconv.FormatInt(width, 10)] = base + webp(width)
	}
	return err
}
