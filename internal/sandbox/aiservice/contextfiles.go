package aiservice

import (
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"path"
)

// A contextFile is a file of a context.
type contextFile struct {
	id, name, mediaType string
	data                []byte
}

const contextFileColumns = "id, name, type, data"

func readContextFile(s scan) (f contextFile, err error) {
	return f, s(&f.id, &f.name, &f.mediaType, &f.data)
}

func selectContextFile(tx *sql.Tx, context int64, id string) (contextFile, error) {
	f, err := readContextFile(tx.QueryRow("SELECT "+contextFileColumns+" FROM context_files WHERE context = ? AND id = ?", context, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return f, notFound("file", id)
	}
	return f, err
}

type contextFileView struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int    `json:"size"`
}

func (f contextFile) view() contextFileView {
	return contextFileView{f.id, f.name, f.mediaType, len(f.data)}
}

func (s *Server) uploadContextFile(c *call) error {
	u, err := c.upload()
	if err != nil {
		return err
	}
	return s.keepContextFile(c, u)
}

// fetchContextFile adds a file from the web; the default name is that of its URL.
func (s *Server) fetchContextFile(c *call) error {
	var in struct {
		URL  string `json:"url"`
		Name string `json:"name"`
	}
	if err := c.json(&in); err != nil {
		return err
	}
	var wrong issues
	wrong.need("url", in.URL)
	wrong.longer("name", in.Name, maxTitle)
	if err := wrong.err(); err != nil {
		return err
	}
	if err := s.store.do(func(tx *sql.Tx) error { _, err := c.context(tx); return err }); err != nil {
		return err
	}
	f, err := s.scrape(c, in.URL)
	if err != nil {
		return err
	}
	if rawURL, err := url.Parse(in.URL); err == nil && in.Name == "" {
		in.Name = path.Base(rawURL.Path)
	}
	return s.keepContextFile(c, upload{name: in.Name, given: f.mediaType, data: f.data})
}

func (s *Server) keepContextFile(c *call, u upload) error {
	f, _, err := s.accept(u)
	if err != nil {
		return err
	}
	id := newID()
	err = s.store.do(func(tx *sql.Tx) error {
		v, err := c.context(tx)
		if err == nil {
			_, err = tx.Exec("INSERT INTO context_files (context, id, name, type, data) VALUES (?, ?, ?, ?, ?)", v.seq, id, u.name, f.mediaType, u.data)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, map[string]string{"id": id})
}

func (s *Server) listContextFiles(c *call) error {
	return listOf(c, "context_files", contextFileColumns, func(read scan) (contextFileView, error) {
		f, err := readContextFile(read)
		return f.view(), err
	})
}

func (s *Server) getContextFile(c *call) error {
	var f contextFile
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.context(tx)
		if err == nil {
			f, err = selectContextFile(tx, v.seq, c.args[1])
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, f.view())
}

func (s *Server) deleteContextFile(c *call) error { return deleteOf(c, "context_files", "file") }

// listOf lists the rows of a context in a table, oldest first.
func listOf[T any](c *call, table, columns string, read func(scan) (T, error)) error {
	var p page[T]
	err := c.server.store.do(func(tx *sql.Tx) error {
		v, err := c.context(tx)
		if err != nil {
			return err
		}
		p, err = pageOf(tx, c, listing{columns: columns, key: "seq", seq: "seq", from: "FROM " + table + " WHERE context = ?", args: []any{v.seq}}, read)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, p)
}

// deleteOf deletes the row in the path from a table of the context.
func deleteOf(c *call, table, what string) error {
	err := c.server.store.do(func(tx *sql.Tx) error {
		v, err := c.context(tx)
		if err != nil {
			return err
		}
		deleted, err := changed(tx, "DELETE FROM "+table+" WHERE context = ? AND id = ?", v.seq, c.args[1])
		if err == nil && !deleted {
			return notFound(what, c.args[1])
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Done()
}
