package mapping

import (
	"slices"
	"strings"

	"assetferry/internal/metadata"
)

// Names of metadata fields with a special meaning.
const (
	wordDescription = "description"
	wordAlt         = "alt"
	wordTags        = "tags"
	wordOldURL      = "old_url"
	wordCollections = metadata.Collections
	wordFolder      = "folder"
	wordExpires     = "expires" // the end of a licence or of other rights
)

// attributeWords returns the fields that become custom attributes of the same name by default.
func attributeWords() [15]string {
	return [...]string{
		"title", "headline", "caption", "creator", "credit", "copyright", "instructions", "created",
		"city", "state", "country", "location", "latitude", "longitude", "rating",
	}
}

// textWords returns the fields that are text in expressions, in the order of the help.
func textWords() []string {
	attributes := attributeWords()
	return append([]string{wordDescription, wordAlt}, attributes[:]...)
}

// placingWords returns the fields of the place. They affect the place only by a rule.
func placingWords() [4]string { return [...]string{"category", wordFolder, "name", "private"} }

func isAttributeWord(name string) bool {
	words := attributeWords()
	return slices.Contains(words[:], name)
}

func isPlacingWord(name string) bool {
	words := placingWords()
	return slices.Contains(words[:], name)
}

// isWord reports whether a field has one of our names.
func isWord(name string) bool {
	switch name {
	case wordDescription, wordAlt, wordTags, wordCollections, wordOldURL:
		return true
	}
	return isAttributeWord(name) || isPlacingWord(name)
}

// isEmbeddedName reports whether a field is embedded metadata without one of our names.
func isEmbeddedName(name string) bool {
	for _, prefix := range []string{"exif.", "iptc.", "xmp."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isPosition reports whether a field contains GPS coordinates, also within another field:
// exif.GPSAltitude, xmp.exif:GPSDestLatitude, geoData.longitude.
func isPosition(name string) bool {
	name = name[strings.LastIndexAny(name, "./:")+1:]
	is := metadata.FieldName(name)
	return is == "latitude" || is == "longitude" || strings.HasPrefix(strings.ToLower(name), "gps")
}
