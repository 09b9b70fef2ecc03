package ai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net/textproto"
	"strings"

	"assetferry/internal/outbound"
)

// A Document is HTML in a conversation, which a reply can change.
type Document struct {
	ID          string          `json:"id,omitempty"`
	Content     string          `json:"content"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Attributes  json.RawMessage `json:"attributes,omitempty"` // of an editor
}

// AddDocument adds a document to a conversation and returns its ID.
func (c *Client) AddDocument(ctx context.Context, conversation string, d Document) (string, error) {
	var got created
	err := c.ask(ctx, &request{op: "add document to", subject: conversation, endpoint: "AddDocument", ids: []string{conversation}, body: jsonPayload(d)}, &got)
	return got.ID, err
}

// AddDocuments adds several documents to a conversation and returns their IDs in the same
// order. The path is a guess.
func (c *Client) AddDocuments(ctx context.Context, conversation string, all []Document) (ids []string, err error) {
	var got []created
	r := request{op: "add documents to", subject: conversation, endpoint: "AddDocuments", ids: []string{conversation}, body: jsonPayload(all)}
	if err := c.ask(ctx, &r, &got); err != nil {
		return nil, err
	}
	for _, one := range got {
		ids = append(ids, one.ID)
	}
	if len(ids) != len(all) {
		return ids, fmt.Errorf("%s %s: the service returned %[4]d documents for %[3]d", r.op, conversation, len(all), len(ids))
	}
	return ids, nil
}

// Documents lists the documents of a conversation.
func (c *Client) Documents(ctx context.Context, conversation string, pages ...Page) iter.Seq2[Document, error] {
	return list[Document](ctx, c, request{op: "list documents of", subject: conversation, endpoint: "Documents", ids: []string{conversation}}, pages)
}

// Document returns a document of a conversation.
func (c *Client) Document(ctx context.Context, conversation, id string) (Document, error) {
	return get[Document](ctx, c, request{op: "read document", subject: id, endpoint: "Document", ids: []string{conversation, id}})
}

// DeleteDocument deletes a document of a conversation. A missing document is no error.
func (c *Client) DeleteDocument(ctx context.Context, conversation, id string) error {
	return c.remove(ctx, &request{op: "delete document", subject: id, endpoint: "DeleteDocument", ids: []string{conversation, id}})
}

// A File is a file to upload: PDF, DOCX, PNG, JPEG, Markdown, HTML or plain text. [ModelLimits]
// contains the limits of a model.
type File struct {
	Name       string // with the extension of the type
	Type       string // media type, such as "image/png"; "": by extension
	Size       int64  // exact number of bytes
	Body       func() (io.ReadCloser, error)
	Attributes any // any value; may be nil. Their encoding is a guess
}

// A StoredFile is a file of a conversation or a context. That it can be read is a guess.
type StoredFile struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Size       int64           `json:"size"`
	Attributes json.RawMessage `json:"attributes"`
}

// UploadFile uploads a file to a conversation and returns its ID. The service moderates images.
// The upload is repeated after transient errors; a duplicate has no effect, because only files
// in a message are read.
func (c *Client) UploadFile(ctx context.Context, conversation string, f File) (string, error) {
	return c.upload(ctx, request{op: "upload file", subject: f.Name, endpoint: "UploadFile", ids: []string{conversation}}, f)
}

func (c *Client) upload(ctx context.Context, r request, f File) (string, error) {
	var err error
	if r.body, err = multipartPayload(f); err != nil {
		return "", fmt.Errorf("%s %s: %w", r.op, f.Name, err)
	}
	var got created
	err = c.ask(ctx, &r, &got)
	return got.ID, err
}

// Files lists the files of a conversation. The path is a guess.
func (c *Client) Files(ctx context.Context, conversation string, pages ...Page) iter.Seq2[StoredFile, error] {
	return list[StoredFile](ctx, c, request{op: "list files of", subject: conversation, endpoint: "Files", ids: []string{conversation}}, pages)
}

// File returns the properties of a file in a conversation. The path is a guess.
func (c *Client) File(ctx context.Context, conversation, id string) (StoredFile, error) {
	return get[StoredFile](ctx, c, request{op: "read file", subject: id, endpoint: "File", ids: []string{conversation, id}})
}

// DeleteFile deletes a file of a conversation. A missing file is no error.
func (c *Client) DeleteFile(ctx context.Context, conversation, id string) error {
	return c.remove(ctx, &request{op: "delete file", subject: id, endpoint: "DeleteFile", ids: []string{conversation, id}})
}

// multipartPayload encodes a file as a form. The names of the parts are guesses; the file is
// last.
func multipartPayload(f File) (*payload, error) {
	var frame bytes.Buffer
	w := multipart.NewWriter(&frame)
	if f.Attributes != nil {
		attributes, err := json.Marshal(f.Attributes)
		if err != nil {
			return nil, err
		}
		if err := w.WriteField("attributes", string(attributes)); err != nil {
			return nil, err
		}
	}
	_, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("file", f.Name)},
		"Content-Type":        {cmp.Or(f.Type, typeOf(f.Name))},
	})
	if err != nil {
		return nil, err
	}
	before := frame.String()
	if err := w.Close(); err != nil {
		return nil, err
	}
	after := frame.String()[len(before):]
	return &payload{
		contentType: w.FormDataContentType(),
		length:      int64(frame.Len()) + f.Size,
		open: func() (io.ReadCloser, error) {
			content, err := f.Body()
			if err != nil {
				return nil, err
			}
			return struct {
				io.Reader
				io.Closer
			}{io.MultiReader(strings.NewReader(before), outbound.Exactly(content, f.Size), strings.NewReader(after)), content}, nil
		},
	}, nil
}

// typeOf returns the media type of a file name, if the service supports it.
func typeOf(name string) string {
	extension := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	known := map[string]string{
		"pdf": "application/pdf", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
		"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"md":   "text/markdown", "markdown": "text/markdown", "html": "text/html", "htm": "text/html", "txt": "text/plain",
	}
	return cmp.Or(known[extension], "application/octet-stream")
}

// A WebResource is a web page for the service to read.
type WebResource struct {
	ID         string `json:"id,omitempty"`
	URL        string `json:"url"`
	Attributes any    `json:"attributes,omitempty"` // any value
}

// AddWebResource adds a web page to a conversation and returns its ID. If the service cannot
// load the page, the error has the status 422.
func (c *Client) AddWebResource(ctx context.Context, conversation string, w WebResource) (string, error) {
	var got created
	err := c.ask(ctx, &request{
		op: "add page to", subject: conversation, endpoint: "AddWebResource", ids: []string{conversation},
		body: jsonPayload(w), cost: Cost{Scrape: 1},
	}, &got)
	return got.ID, err
}

// WebResources lists the web pages of a conversation. The path is a guess.
func (c *Client) WebResources(ctx context.Context, conversation string, pages ...Page) iter.Seq2[WebResource, error] {
	return list[WebResource](ctx, c, request{op: "list pages of", subject: conversation, endpoint: "WebResources", ids: []string{conversation}}, pages)
}

// WebResource returns the properties of a web page in a conversation. The path is a guess.
func (c *Client) WebResource(ctx context.Context, conversation, id string) (WebResource, error) {
	return get[WebResource](ctx, c, request{op: "read page", subject: id, endpoint: "WebResource", ids: []string{conversation, id}})
}

// DeleteWebResource deletes a web page of a conversation. A missing page is no error.
func (c *Client) DeleteWebResource(ctx context.Context, conversation, id string) error {
	return c.remove(ctx, &request{op: "delete page", subject: id, endpoint: "DeleteWebResource", ids: []string{conversation, id}})
}
