package ckfinder

import (
	"bytes"
	"encoding/json"
)

// Permissions of a folder that listings need.
const (
	viewFolders = 1
	viewFiles   = 16
)

// An answer has the fields of the responses to all commands.
type answer struct {
	Error         *trouble `json:"error"`
	CurrentFolder struct {
		Path *string `json:"path"`
		URL  string  `json:"url"`
		ACL  *int    `json:"acl"`
	} `json:"currentFolder"`
}

// A trouble is an error of a connector. It may come with any status.
type trouble struct {
	Number  int    `json:"number"`
	Message string `json:"message"`
}

func (a *answer) trouble() *trouble {
	if a.Error == nil || *a.Error == (trouble{}) {
		return nil
	}
	return a.Error
}

func (a *answer) head() *answer { return a }

// A reply is any response.
type reply interface {
	head() *answer
	// check returns an error if a mandatory field is missing.
	check() error
}

// A beginning is the response to Init.
type beginning struct {
	answer
	Enabled *bool          `json:"enabled"`
	Types   []resourceType `json:"resourceTypes"`
}

type resourceType struct {
	Name string `json:"name"`
}

func (b *beginning) check() error {
	if b.Types == nil {
		return &foreignError{"resourceTypes"}
	}
	return nil
}

// A folderList is the response to GetFolders.
type folderList struct {
	answer
	Folders []listedFolder `json:"-"`
}

// A listedFolder is a folder in a listing.
type listedFolder struct {
	Name string `json:"name"`
}

func (l *folderList) key() string                { return "folders" }
func (l *folderList) begin()                     { l.Folders = []listedFolder{} }
func (l *folderList) item(d *json.Decoder) error { return decodeItem(d, &l.Folders) }

// decodeItem reads the next item of a list.
func decodeItem[T any](d *json.Decoder, list *[]T) error {
	var item T
	err := d.Decode(&item)
	*list = append(*list, item)
	return err
}

func (l *folderList) check() error {
	if l.Folders == nil {
		return &foreignError{"folders"}
	}
	return nil
}

// A fileList is the response to GetFiles.
type fileList struct {
	answer
	Files []listedFile `json:"-"`
}

func (l *fileList) key() string                { return "files" }
func (l *fileList) begin()                     { l.Files = []listedFile{} }
func (l *fileList) item(d *json.Decoder) error { return decodeItem(d, &l.Files) }

// A listedFile is a file in a listing.
type listedFile struct {
	Name string `json:"name"`
	Date plain  `json:"date"` // YYYYMMDDhhmm in the time zone of the connector
	Size plain  `json:"size"` // in kilobytes
}

func (l *fileList) check() error {
	if l.Files == nil {
		return &foreignError{"files"}
	}
	return nil
}

// plain is a number or a text, because connectors differ.
type plain string

// UnmarshalJSON implements json.Unmarshaler.
func (p *plain) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if data[0] != '"' {
		*p = plain(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(p))
}
