package naming

// MimeType returns the type of an extension, the same on every machine. The type in the request
// is ignored, because official clients send no useful one.
func MimeType(folded string) string {
	switch folded {
	case "jpg", "jpeg":
		return "image/jpeg"
	case "png", "gif", "webp", "bmp", "avif", "heic":
		return "image/" + folded
	case "tif", "tiff":
		return "image/tiff"
	case "svg":
		return "image/svg+xml"
	case "ico":
		return "image/vnd.microsoft.icon"
	case "pdf", "zip", "json", "xml", "rtf", "ogg":
		return "application/" + folded
	case "gz", "tgz":
		return "application/gzip"
	case "tar":
		return "application/x-tar"
	case "7z":
		return "application/x-7z-compressed"
	case "js":
		return "text/javascript"
	case "txt", "log":
		return "text/plain"
	case "md":
		return "text/markdown"
	case "html", "htm":
		return "text/html"
	case "css", "csv":
		return "text/" + folded
	case "yaml", "yml":
		return "application/yaml"
	case "doc":
		return "application/msword"
	case "docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case "xls":
		return "application/vnd.ms-excel"
	case "xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case "ppt":
		return "application/vnd.ms-powerpoint"
	case "pptx":
		return "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	case "odt":
		return "application/vnd.oasis.opendocument.text"
	case "ods":
		return "application/vnd.oasis.opendocument.spreadsheet"
	case "odp":
		return "application/vnd.oasis.opendocument.presentation"
	case "epub":
		return "application/epub+zip"
	case "woff", "woff2", "ttf", "otf":
		return "font/" + folded
	case "eot":
		return "application/vnd.ms-fontobject"
	case "mp4", "m4v":
		return "video/mp4"
	case "mov":
		return "video/quicktime"
	case "webm":
		return "video/webm"
	case "avi":
		return "video/x-msvideo"
	case "mkv":
		return "video/x-matroska"
	case "mp3":
		return "audio/mpeg"
	case "wav", "flac", "aac":
		return "audio/" + folded
	case "m4a":
		return "audio/mp4"
	default:
		return "application/octet-stream"
	}
}
