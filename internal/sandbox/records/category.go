package records

import "strings"

// A Category is the top of a folder tree with its allowed extensions.
type Category struct {
	ID, Name   string
	Extensions []string
	Private    bool
	Workspace  string
}

// firstCategories returns the categories of a new workspace. The three names are documented,
// the extensions are not.
func firstCategories() []Category {
	return []Category{
		{Name: "Files", Extensions: strings.Fields(
			"zip gz tgz tar 7z rar css js mjs map woff woff2 ttf otf eot mp4 m4v mov webm avi mkv mpg mpeg wmv " +
				"mp3 m4a wav ogg flac aac psd ai eps indd sketch fig epub vtt srt ics vcf sql")},
		{Name: "Images", Extensions: strings.Fields(
			"jpg jpeg png gif webp tif tiff bmp svg heic heif avif ico")},
		{Name: "Documents", Extensions: strings.Fields(
			"pdf txt md doc docx dot dotx odt ott rtf xls xlsx xlsm csv tsv ods ppt pptx pps ppsx odp " +
				"html htm json xml yaml yml log tex pages numbers key")},
	}
}

type CategoryView struct {
	ID              string    `json:"id"`
	Name            string    `json:"name"`
	Extensions      []string  `json:"extensions"`
	AssetsCount     int       `json:"assetsCount"`
	IsPrivate       bool      `json:"isPrivate"`
	ExtensionsInUse *[]string `json:"extensionsInUse,omitempty"`
}

func (c Category) View() CategoryView {
	return CategoryView{ID: c.ID, Name: c.Name, Extensions: c.Extensions, IsPrivate: c.Private}
}
