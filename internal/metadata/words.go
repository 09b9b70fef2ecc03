package metadata

import "strings"

// FieldName returns the name by which a field that people or programs call so is known. They
// write "Alt Text", "alt_text" and "altText", and several words for the same; a name that
// is none of these stays as it is.
func FieldName(written string) string {
	if name := fieldWord(folded(written)); name != "" {
		return name
	}
	return written
}

// folded is a name without what programs put between its words.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
}

// fieldWord returns the name that a folded one has here, or nothing.
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
	case "address", "addresses", "oldaddress", "oldaddresses":
		return "address"
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
