package aiservice

import (
	"bytes"
	"database/sql"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"assetferry/internal/sandbox/answer"
)

// maxAttributes is the maximum length of attributes in a form; a guess.
const maxAttributes = 64 << 10

// A format is a supported file format.
type format struct {
	name       string // in scopes; pdf and docx are documented, the others are guesses
	mediaType  string
	extensions []string
	binary     bool
}

func formats() []format {
	return []format{
		{"pdf", "application/pdf", []string{"pdf"}, true},
		{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", []string{"docx"}, true},
		{"png", "image/png", []string{"png"}, true},
		{"jpeg", "image/jpeg", []string{"jpg", "jpeg"}, true},
		{"md", "text/markdown", []string{"md", "markdown"}, false},
		{"html", "text/html", []string{"html", "htm"}, false},
		{"txt", "text/plain", []string{"txt", "text"}, false},
	}
}

// formatOf detects the format of a file from its content and its name; without an extension, from
// the type in the request. They must match: a guess.
func formatOf(name, given string, data []byte) (format, error) {
	extension := lower(strings.TrimPrefix(path.Ext(name), "."))
	given, _, _ = mime.ParseMediaType(given)
	for _, f := range formats() {
		named := extension == "" && f.mediaType == given
		for _, e := range f.extensions {
			named = named || e == extension
		}
		if named && f.holds(data) {
			return f, nil
		}
	}
	p := refuse(http.StatusUnsupportedMediaType, "unsupported-file-type", "The file %q is not PDF, DOCX, PNG, JPEG, Markdown, HTML or plain text.", name)
	p.action = "Convert it, and check the extension of its name."
	return format{}, p
}

// holds reports whether content has the format.
func (f format) holds(data []byte) bool {
	switch f.name {
	case "pdf":
		return bytes.HasPrefix(data, []byte("%PDF-"))
	case "docx":
		return bytes.HasPrefix(data, []byte("PK\x03\x04")) && bytes.Contains(data, []byte("word/"))
	case "png":
		return bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
	case "jpeg":
		return bytes.HasPrefix(data, []byte("\xff\xd8\xff"))
	}
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

func (f format) isImage() bool { return f.name == "png" || f.name == "jpeg" }

// An upload is the content of a form.
type upload struct {
	name, given string // file name and type in the request
	data        []byte
	fields      map[string]string // the other parts
}

// upload decodes a form with a part named file; fields are its other permitted parts. The names of
// the parts are guesses.
func (c *call) upload(fields ...string) (u upload, err error) {
	form, err := c.R.MultipartReader()
	if err != nil {
		return u, malformed("body", "must be multipart/form-data")
	}
	u.fields = map[string]string{}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return u, malformed("body", "must be multipart/form-data: %v", err)
		}
		if err := u.read(part, fields); err != nil {
			return u, err
		}
	}
	if u.name == "" {
		return u, malformed("file", "is required, with a file name")
	}
	if len(u.data) == 0 {
		return u, malformed("file", "must not be empty")
	}
	return u, nil
}

func (u *upload) read(part *multipart.Part, fields []string) error {
	name := part.FormName()
	most := int64(maxAttributes)
	if name == "file" {
		most = maxFileSize
	}
	data, err := io.ReadAll(io.LimitReader(part, most+1))
	if err != nil {
		return malformed("body", "must be multipart/form-data: %v", err)
	}
	if name == "file" {
		if len(data) > maxFileSize {
			return refuse(http.StatusRequestEntityTooLarge, "file-too-large", "The file is larger than %d bytes.", maxFileSize).with("limit", maxFileSize)
		}
		u.name, u.given, u.data = part.FileName(), part.Header.Get("Content-Type"), data
		return nil
	}
	for _, known := range fields {
		if name == known && int64(len(data)) <= most {
			u.fields[name] = string(data)
			return nil
		}
	}
	return malformed(name, "is not known here, or too long")
}

// image refuses an image that is larger than the limit of all models, and one that moderation
// flags.
func (s *Server) image(name string, data []byte) error {
	limit := 0
	for _, m := range s.options.Models {
		limit = max(limit, m.MaxImageSize)
	}
	if len(data) > limit {
		return imageTooLarge(limit)
	}
	if err := s.options.Profile.refuseTiny(data); err != nil {
		return err
	}
	return flagged(answer.ModerateImage(name, data))
}

func imageTooLarge(limit int) *problem {
	return refuse(http.StatusRequestEntityTooLarge, "image-too-large", "The image is larger than %d bytes.", limit).with("limit", limit)
}

// flagged returns the error for categories that moderation found, or nil.
func flagged(categories []string) error {
	if len(categories) == 0 {
		return nil
	}
	return refuse(http.StatusUnprocessableEntity, "moderation-flagged", "The content was flagged by moderation.").with("flaggedCategories", categories)
}

// accept checks an uploaded file for any target.
func (s *Server) accept(u upload) (f format, pages int, err error) {
	if f, err = formatOf(u.name, u.given, u.data); err != nil {
		return f, 0, err
	}
	if f.isImage() {
		return f, 0, s.image(u.name, u.data)
	}
	if f.name == "pdf" {
		pages = answer.PDFPages(u.data)
	}
	return f, pages, nil
}

func (s *Server) uploadFile(c *call) error {
	u, err := c.upload("attributes")
	if err != nil {
		return err
	}
	given, err := attributes([]byte(u.fields["attributes"]))
	if err != nil {
		return err
	}
	f, pages, err := s.accept(u)
	if err != nil {
		return err
	}
	if err := c.who.need([]string{useFiles + f.name}); err != nil {
		return err
	}
	a := attachment{kind: aFile, id: newID(), name: u.name, mediaType: f.mediaType, pages: pages, details: given, data: u.data}
	if err := s.attach(c, func(tx *sql.Tx, v conversation) error { return room(tx, v, a) }, a); err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, map[string]string{"id": a.id})
}

// room refuses a file beyond the limits of a conversation.
func room(tx *sql.Tx, v conversation, a attachment) error {
	var count, size, pages int
	err := tx.QueryRow("SELECT count(*), coalesce(sum(length(data)), 0), coalesce(sum(pages), 0) FROM attachments WHERE conversation = ? AND kind = 'file'",
		v.seq).Scan(&count, &size, &pages)
	switch {
	case err != nil:
		return err
	case count >= maxFiles:
		return refuse(http.StatusUnprocessableEntity, "too-many-files", "A conversation has at most %d files.", maxFiles).with("limit", maxFiles)
	case size+len(a.data) > maxTotalFileSize:
		return refuse(http.StatusRequestEntityTooLarge, "total-file-size-exceeded", "The files of a conversation have at most %d bytes.", maxTotalFileSize).with("limit", maxTotalFileSize)
	case pages+a.pages > maxPDFPages:
		return refuse(http.StatusUnprocessableEntity, "too-many-pdf-pages", "The PDF files of a conversation have at most %d pages.", maxPDFPages).with("limit", maxPDFPages)
	}
	return nil
}

func fileView(a attachment) map[string]any {
	return map[string]any{"id": a.id, "name": a.name, "type": a.mediaType, "size": len(a.data), "attributes": a.details}
}

func (s *Server) listFiles(c *call) error  { return s.listAttachments(c, aFile, fileView) }
func (s *Server) getFile(c *call) error    { return s.getAttachment(c, aFile, fileView) }
func (s *Server) deleteFile(c *call) error { return s.deleteAttachment(c, aFile) }
