package metadata

import "strings"

// FieldName returns our name for a field. Users and programs write "Alt Text", "alt_text" and "altText",
// or synonyms. Other names stay as they are.
func FieldName(written string) string {
	if name := fieldWord(folded(written)); name != "" {
		return name
	}
	return written
}

// folded returns a name in lower case without separators.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
}

// fieldWord returns our name for a folded name, or "".
func fieldWord(name string) string {
	switch name {
	case "description", "desc":
		return "description"
	case "alt", "alttext", "alternativetext", "alttextaccessibility":
		return "alt"
	case "title", "objectname":
		return "title"
	case "headline":
		return "headline"
	case "caption", "captionabstract", "imagedescription":
		return "caption"
	case "tags", "tag", "keywords", "keyword":
		return "tags"
	case "collections", "collection", "albums", "album":
		return Collections
	case "creator", "byline", "author", "artist", "photographer":
		return "creator"
	case "credit", "creditline":
		return "credit"
	case "copyright", "copyrightnotice", "rights":
		return "copyright"
	case "instructions", "specialinstructions":
		return "instructions"
	case "created", "datecreated", "datetaken", "datetimeoriginal":
		return "created"
	case "city":
		return "city"
	case "state", "province", "provincestate":
		return "state"
	case "country", "countryname":
		return "country"
	case "location", "sublocation":
		return "location"
	case "latitude", "lat", "gpslatitude":
		return "latitude"
	case "longitude", "lon", "lng", "gpslongitude":
		return "longitude"
	case "rating":
		return "rating"
	case "oldurl", "oldurls":
		return "old_url"
	case "category":
		return "category"
	case "folder":
		return "folder"
	case "name":
		return "name"
	case "private":
		return "private"
	}
	return ""
}
