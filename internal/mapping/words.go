package mapping

import (
	"slices"
	"strings"

	"assetferry/internal/metadata"
)

// Words with a meaning of their own in what describes an object.
const (
	wordDescription = "description"
	wordAlt         = "alt"
	wordTags        = "tags"
	wordAddress     = "address"
	wordFolder      = "folder"
)

// attributeWords become custom attributes of the same name where no rule says otherwise.
func attributeWords() [15]string {
	return [...]string{
		"title", "headline", "caption", "creator", "credit", "copyright", "instructions", "created",
		"city", "state", "country", "location", "latitude", "longitude", "rating",
	}
}

// textWords are the words whose values expressions see as text, in the order in which the
// help tells them.
func textWords() []string {
	attributes := attributeWords()
	return append([]string{wordDescription, wordAlt}, attributes[:]...)
}

// placingWords say where an object belongs. They place it only where a rule says so.
func placingWords() [4]string { return [...]string{"category", wordFolder, "name", "private"} }

func isAttributeWord(name string) bool {
	words := attributeWords()
	return slices.Contains(words[:], name)
}

func isPlacingWord(name string) bool {
	words := placingWords()
	return slices.Contains(words[:], name)
}

// isWord reports whether the name of a field is a word of ours.
func isWord(name string) bool {
	switch name {
	case wordDescription, wordAlt, wordTags, wordAddress:
		return true
	}
	return isAttributeWord(name) || isPlacingWord(name)
}

// isEmbeddedName reports whether a field is embedded in contents and no word of ours.
func isEmbeddedName(name string) bool {
	for _, prefix := range []string{"exif.", "iptc.", "xmp."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isPosition reports whether a field says where on earth an object was made, whatever it lies
// in: exif.GPSAltitude, xmp.exif:GPSDestLatitude, geoData.longitude.
func isPosition(name string) bool {
	name = name[strings.LastIndexAny(name, "./:")+1:]
	is := metadata.FieldName(name)
	return is == "latitude" || is == "longitude" || strings.HasPrefix(strings.ToLower(name), "gps")
}
