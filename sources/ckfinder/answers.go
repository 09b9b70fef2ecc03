package ckfinder

import (
	"bytes"
	"encoding/json"
)

// The permissions that listings need, as the connector gives them for each folder.
const (
	viewFolders = 1
	viewFiles   = 16
)

// An answer is what the answers to all commands have in common.
type answer struct {
	Error         *trouble `json:"error"`
	CurrentFolder struct {
		Path *string `json:"path"`
		URL  string  `json:"url"`
		ACL  *int    `json:"acl"`
	} `json:"currentFolder"`
}

// A trouble is what a connector says that went wrong. It may come with any status.
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

// A reply is any answer.
type reply interface {
	head() *answer
	// check reports whether something is missing that the command always gives.
	check() error
}

// A beginning is the answer to Init.
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

// A folderList is the answer to GetFolders.
type folderList struct {
	answer
	Folders []listedFolder `json:"-"`
}

// A listedFolder is a folder as a listing has it.
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

// A fileList is the answer to GetFiles.
type fileList struct {
	answer
	Files []listedFile `json:"-"`
}

func (l *fileList) key() string                { return "files" }
func (l *fileList) begin()                     { l.Files = []listedFile{} }
func (l *fileList) item(d *json.Decoder) error { return decodeItem(d, &l.Files) }

// A listedFile is a file as a listing has it.
type listedFile struct {
	Name string `json:"name"`
	Date plain  `json:"date"` // YYYYMMDDhhmm, where the connector is
	Size plain  `json:"size"` // in kilobytes
}

func (l *fileList) check() error {
	if l.Files == nil {
		return &foreignError{"files"}
	}
	return nil
}

// plain is a number or a text: connectors do not agree which of them to send.
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
