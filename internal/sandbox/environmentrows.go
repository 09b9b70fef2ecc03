package sandbox

import (
	"database/sql"
	"encoding/json"
	"errors"

	"assetferry/internal/sandbox/store"
)

func selectEnvironment(s *store.Session, id string) (environmentConfig, error) {
	e := environmentConfig{AllowedExtensions: []string{}}
	var extensions []byte
	err := store.NotThere(s.Row("SELECT extensions, restricted FROM environments WHERE id = ?", []any{id}, &extensions, &e.IsAllowedExtensionsEnabled))
	if err != nil {
		return e, store.IgnoreNotThere(err)
	}
	return e, json.Unmarshal(extensions, &e.AllowedExtensions)
}

func updateEnvironment(s *store.Session, id string, e environmentConfig) error {
	_, err := s.Exec(`INSERT INTO environments (id, extensions, restricted) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET extensions = excluded.extensions, restricted = excluded.restricted`,
		id, jsonArray(e.AllowedExtensions), e.IsAllowedExtensionsEnabled)
	return err
}

// selectTemplate gives the categories of new workspaces.
func selectTemplate(s *store.Session, environment string) ([]category, error) {
	var text sql.Null[string]
	err := store.NotThere(s.Row("SELECT template FROM environments WHERE id = ?", []any{environment}, &text))
	if errors.Is(err, store.ErrNotThere) || err == nil && !text.Valid {
		return firstCategories(), nil
	}
	if err != nil {
		return nil, err
	}
	var stored []templateCategory
	if err := json.Unmarshal([]byte(text.V), &stored); err != nil {
		return nil, err
	}
	var all []category
	for _, t := range stored {
		all = append(all, category{Name: t.Name, Extensions: t.Extensions, Private: t.IsPrivate})
	}
	return all, nil
}

func updateTemplate(s *store.Session, environment string, template []templateCategory) error {
	text, err := json.Marshal(template)
	if err != nil {
		return err
	}
	_, err = s.Exec("INSERT INTO environments (id, template) VALUES (?, ?) ON CONFLICT DO UPDATE SET template = excluded.template",
		environment, string(text))
	return err
}
