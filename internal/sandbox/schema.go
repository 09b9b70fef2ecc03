package sandbox

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

const applicationID = 0x41465342 // "AFSB": never open somebody else's database

//go:embed migrations/*.sql
var migrations embed.FS

// A migration brings the schema to its version.
type migration struct {
	version int
	sql     string
}

// migrationsOf are the steps in a folder, in order; each begins its name with its
// version in four digits.
func migrationsOf(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, name := range names {
		version, err := strconv.Atoi(name[len("migrations/"):][:4])
		if err != nil {
			return nil, fmt.Errorf("%s: no version: %w", name, err)
		}
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, string(sql)})
	}
	return all, nil
}

// migrate brings an empty database, or one of an earlier sandbox, to the schema
// of this one, and refuses any other.
func (s *session) migrate() error {
	steps, err := migrationsOf(migrations)
	if err != nil {
		return err
	}
	latest := steps[len(steps)-1].version
	var application, version, tables int
	err = errors.Join(
		s.row("PRAGMA application_id", nil, &application),
		s.row("PRAGMA user_version", nil, &version),
		s.row("SELECT count(*) FROM sqlite_schema", nil, &tables))
	switch {
	case err != nil:
		return err
	case application == applicationID && version == latest:
		return nil
	case application == applicationID && version > latest:
		return fmt.Errorf("the data is of a newer sandbox (schema %d, this one knows %d): use a newer program", version, latest)
	case application != applicationID && (application != 0 || tables != 0):
		return errors.New("this is not a sandbox's database")
	}
	return s.exclusively(func() error { return s.step(steps, version) })
}

// step carries out the steps after a version.
func (s *session) step(steps []migration, version int) error {
	for _, m := range steps {
		if m.version <= version {
			continue
		}
		if err := s.carryOut(m); err != nil {
			return fmt.Errorf("bring the schema to version %d: %w", m.version, err)
		}
	}
	return nil
}

func (s *session) carryOut(m migration) error {
	if _, err := s.conn.ExecContext(context.Background(), m.sql); err != nil {
		return err
	}
	if m.version == 2 { // SQL does not know Unicode's normal forms
		if err := fillNormal(s); err != nil {
			return err
		}
	}
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, m.version)
	_, err := s.conn.ExecContext(context.Background(), mark)
	return err
}
