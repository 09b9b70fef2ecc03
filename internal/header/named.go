package header

import "slices"

// kindsOf returns the possible kinds for an extension in lower case, or nil for any kind. If strict is
// true, other kinds cannot be opened.
func kindsOf(extension string) (kinds []Kind, strict bool) {
	switch extension {
	case "jpg", "jpeg", "jpe", "jfif":
		return []Kind{JPEG}, true
	case "png", "apng":
		return []Kind{PNG}, true
	case "gif":
		return []Kind{GIF}, true
	case "webp":
		return []Kind{WebP}, true
	case "tif", "tiff":
		return []Kind{TIFF, BigTIFF}, true
	case "bmp", "dib":
		return []Kind{BMP}, true
	case "heic", "heif", "avif":
		return []Kind{HEIF, Video}, true
	case "svg":
		return []Kind{SVG, XML}, false
	case "svgz":
		return []Kind{GZIP}, true
	case "html", "htm", "xhtml", "xht":
		return []Kind{HTML, XML, SVG}, false
	case "xml", "xsl", "xslt", "rss", "atom", "xmp":
		return []Kind{XML, SVG, HTML}, false
	case "pdf":
		return []Kind{PDF}, true
	case "mp4", "m4v", "m4a", "mov", "qt", "3gp", "3g2":
		return []Kind{Video, HEIF}, false // QuickTime can begin with any box
	case "mkv", "webm", "mka":
		return []Kind{Matroska}, true
	case "wav", "avi":
		return []Kind{RIFF}, true
	case "ogg", "oga", "ogv", "opus":
		return []Kind{Ogg}, true
	case "docx", "docm", "xlsx", "xlsm", "pptx", "pptm", "odt", "ods", "odp":
		return []Kind{ZIP, OLE}, true // OLE if it has a password
	case "zip", "epub", "jar", "apk":
		return []Kind{ZIP, Program}, false // self-extracting archives begin with a program
	case "gz", "tgz":
		return []Kind{GZIP}, true
	case "7z":
		return []Kind{SevenZip}, true
	case "rar":
		return []Kind{RAR}, true
	case "doc", "xls", "ppt", "msi":
		return []Kind{OLE}, false
	case "exe", "dll", "sys", "scr", "so", "dylib", "elf", "o", "ko":
		return []Kind{Program}, false
	}
	return nil, false
}

// IsImage reports whether Size can read files with an extension in lower case.
func IsImage(extension string) bool {
	kinds, _ := kindsOf(extension)
	return len(kinds) > 0 && slices.Contains([]Kind{JPEG, PNG, GIF, WebP, TIFF, BMP}, kinds[0])
}

// Agrees reports whether a file of a kind may have an extension in lower case. A program needs an
// extension for programs. An unknown kind agrees with all extensions that are not strict.
func Agrees(extension string, kind Kind) bool {
	kinds, strict := kindsOf(extension)
	switch {
	case slices.Contains(kinds, kind):
		return true
	case kind == "":
		return !strict
	case kind == Program:
		return isProgram(extension)
	}
	return len(kinds) == 0
}

// isProgram reports whether a program may have the extension. Files without an extension may be
// programs.
func isProgram(extension string) bool {
	return slices.Contains([]string{"", "exe", "dll", "sys", "scr", "com", "ocx", "cpl", "efi", "so", "dylib", "elf", "o", "a", "ko", "bin", "node", "msi", "syso", "mui"}, extension)
}
