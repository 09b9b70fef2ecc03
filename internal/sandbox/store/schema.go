package store

import (
	"context"
	_ "embed" // schema.sql
	"errors"
	"fmt"
)

const (
	applicationID = 0x41465342 // "AFSB": marks the databases of the sandbox
	schemaVersion = 8          // stored in each database; development builds with other schemas stored lower ones
)

//go:embed schema.sql
var schema string

// makeSchema creates the tables in an empty database, and refuses databases with another schema.
func (s *Session) makeSchema() error {
	var application, version, tables int
	err := errors.Join(
		s.Row("PRAGMA application_id", nil, &application),
		s.Row("PRAGMA user_version", nil, &version),
		s.Row("SELECT count(*) FROM sqlite_schema", nil, &tables))
	switch {
	case err != nil:
		return err
	case application == applicationID && version == schemaVersion:
		return nil
	case application == applicationID && version > schemaVersion:
		return fmt.Errorf("a newer sandbox wrote the data (schema %d; this version supports %d): use a newer version", version, schemaVersion)
	case application == applicationID:
		return fmt.Errorf("an older sandbox wrote the data (schema %d; this version supports %d): use a new folder", version, schemaVersion)
	case application != 0 || tables != 0:
		return errors.New("the file is not a database of the sandbox")
	}
	return s.exclusively(func() error {
		mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion)
		if _, err := s.conn.ExecContext(context.Background(), schema+mark); err != nil {
			return fmt.Errorf("create the schema: %w", err)
		}
		return nil
	})
}
