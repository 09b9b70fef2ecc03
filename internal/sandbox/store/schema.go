package store

import (
	"context"
	_ "embed" // schema.sql
	"errors"
	"fmt"
)

const (
	applicationID = 0x41465342 // "AFSB": never open somebody else's database
	schemaVersion = 7          // stored in each database; development builds with other schemas stored lower ones
)

//go:embed schema.sql
var schema string

// makeSchema creates the tables in an empty database, and refuses what is not of
// this schema.
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
		return fmt.Errorf("the data is of a newer sandbox (schema %d, this one knows %d): use a newer program", version, schemaVersion)
	case application == applicationID:
		return fmt.Errorf("the data is of an older sandbox (schema %d, this one knows %d): use a new folder", version, schemaVersion)
	case application != 0 || tables != 0:
		return errors.New("this is not a sandbox's database")
	}
	return s.exclusively(func() error {
		mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion)
		if _, err := s.conn.ExecContext(context.Background(), schema+mark); err != nil {
			return fmt.Errorf("make the schema: %w", err)
		}
		return nil
	})
}
