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

// A Document is HTML in a conversation, which a reply may change.
type Document struct {
	ID          string          `json:"id,omitempty"`
	Content     string          `json:"content"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Attributes  json.RawMessage `json:"attributes,omitempty"` // of an editor
}

// AddDocument puts a document into a conversation and returns its ID.
func (c *Client) AddDocument(ctx context.Context, conversation string, d Document) (string, error) {
	var got created
	err := c.ask(ctx, &request{op: "add document to", subject: conversation, endpoint: "AddDocument", ids: []string{conversation}, body: jsonPayload(d)}, &got)
	return got.ID, err
}

// AddDocuments puts several documents into a conversation and returns their IDs, in the same
// order. Where they go is a guess.
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
		return ids, fmt.Errorf("%s %s: %d documents were sent, and %d came back", r.op, conversation, len(all), len(ids))
	}
	return ids, nil
}

// Documents lists the documents of a conversation.
func (c *Client) Documents(ctx context.Context, conversation string, pages ...Page) iter.Seq2[Document, error] {
	return list[Document](ctx, c, request{op: "list documents of", subject: conversation, endpoint: "Documents", ids: []string{conversation}}, pages)
}

// Document reads a document of a conversation.
func (c *Client) Document(ctx context.Context, conversation, id string) (Document, error) {
	return get[Document](ctx, c, request{op: "read document", subject: id, endpoint: "Document", ids: []string{conversation, id}})
}

// DeleteDocument deletes a document of a conversation. That it is gone already is no error.
func (c *Client) DeleteDocument(ctx context.Context, conversation, id string) error {
	return c.remove(ctx, &request{op: "delete document", subject: id, endpoint: "DeleteDocument", ids: []string{conversation, id}})
}

// A File is to be uploaded: PDF, DOCX, PNG, JPEG, Markdown, HTML or plain text. What a model
// takes is in its [ModelLimits].
type File struct {
	Name       string // with an extension that fits the type
	Type       string // media type, such as "image/png"; that of the extension if empty
	Size       int64  // bytes, exactly
	Body       func() (io.ReadCloser, error)
	Attributes any // opaque; may be nil. How they travel is a guess
}

// A StoredFile is a file of a conversation or of a context. That it can be read is a guess.
type StoredFile struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Size       int64           `json:"size"`
	Attributes json.RawMessage `json:"attributes"`
}

// UploadFile puts a file into a conversation and returns its ID. Images are moderated here. It
// is repeated after transient errors; a file that is there twice does no harm, since only what
// a message names is read.
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

// Files lists the files of a conversation. Where is a guess.
func (c *Client) Files(ctx context.Context, conversation string, pages ...Page) iter.Seq2[StoredFile, error] {
	return list[StoredFile](ctx, c, request{op: "list files of", subject: conversation, endpoint: "Files", ids: []string{conversation}}, pages)
}

// File reads what is known of a file of a conversation. Where is a guess.
func (c *Client) File(ctx context.Context, conversation, id string) (StoredFile, error) {
	return get[StoredFile](ctx, c, request{op: "read file", subject: id, endpoint: "File", ids: []string{conversation, id}})
}

// DeleteFile deletes a file of a conversation. That it is gone already is no error.
func (c *Client) DeleteFile(ctx context.Context, conversation, id string) error {
	return c.remove(ctx, &request{op: "delete file", subject: id, endpoint: "DeleteFile", ids: []string{conversation, id}})
}

// multipartPayload frames a file. Names of the parts are guesses; the file comes last.
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

// typeOf is the media type of a name, of those that the service takes.
func typeOf(name string) string {
	extension := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	known := map[string]string{
		"pdf": "application/pdf", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
		"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"md":   "text/markdown", "markdown": "text/markdown", "html": "text/html", "htm": "text/html", "txt": "text/plain",
	}
	return cmp.Or(known[extension], "application/octet-stream")
}

// A WebResource is a page that the service reads.
type WebResource struct {
	ID         string `json:"id,omitempty"`
	URL        string `json:"url"`
	Attributes any    `json:"attributes,omitempty"` // opaque
}

// AddWebResource has the service read a page into a conversation, and returns its ID. Where it
// cannot the error has the status 422.
func (c *Client) AddWebResource(ctx context.Context, conversation string, w WebResource) (string, error) {
	var got created
	err := c.ask(ctx, &request{
		op: "add page to", subject: conversation, endpoint: "AddWebResource", ids: []string{conversation},
		body: jsonPayload(w), cost: Cost{Scrape: 1},
	}, &got)
	return got.ID, err
}

// WebResources lists the pages of a conversation. Where is a guess.
func (c *Client) WebResources(ctx context.Context, conversation string, pages ...Page) iter.Seq2[WebResource, error] {
	return list[WebResource](ctx, c, request{op: "list pages of", subject: conversation, endpoint: "WebResources", ids: []string{conversation}}, pages)
}

// WebResource reads what is known of a page of a conversation. Where is a guess.
func (c *Client) WebResource(ctx context.Context, conversation, id string) (WebResource, error) {
	return get[WebResource](ctx, c, request{op: "read page", subject: id, endpoint: "WebResource", ids: []string{conversation, id}})
}

// DeleteWebResource deletes a page of a conversation. That it is gone already is no error.
func (c *Client) DeleteWebResource(ctx context.Context, conversation, id string) error {
	return c.remove(ctx, &request{op: "delete page", subject: id, endpoint: "DeleteWebResource", ids: []string{conversation, id}})
}
