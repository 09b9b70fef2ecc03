package records

import (
	"database/sql"
	"encoding/json"
	"errors"

	"assetferry/internal/sandbox/store"
)

func SelectEnvironment(s *store.Session, id string) (EnvironmentConfig, error) {
	e := EnvironmentConfig{AllowedExtensions: []string{}}
	var extensions []byte
	err := store.NotThere(s.Row("SELECT extensions, restricted FROM environments WHERE id = ?", []any{id}, &extensions, &e.IsAllowedExtensionsEnabled))
	if err != nil {
		return e, store.IgnoreNotThere(err)
	}
	return e, json.Unmarshal(extensions, &e.AllowedExtensions)
}

func UpdateEnvironment(s *store.Session, id string, e EnvironmentConfig) error {
	_, err := s.Exec(`INSERT INTO environments (id, extensions, restricted) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET extensions = excluded.extensions, restricted = excluded.restricted`,
		id, JsonArray(e.AllowedExtensions), e.IsAllowedExtensionsEnabled)
	return err
}

// SelectTemplate returns the categories of new workspaces.
func SelectTemplate(s *store.Session, environment string) ([]Category, error) {
	var text sql.Null[string]
	err := store.NotThere(s.Row("SELECT template FROM environments WHERE id = ?", []any{environment}, &text))
	if errors.Is(err, store.ErrNotThere) || err == nil && !text.Valid {
		return firstCategories(), nil
	}
	if err != nil {
		return nil, err
	}
	var stored []TemplateCategory
	if err := json.Unmarshal([]byte(text.V), &stored); err != nil {
		return nil, err
	}
	var all []Category
	for _, t := range stored {
		all = append(all, Category{Name: t.Name, Extensions: t.Extensions, Private: t.IsPrivate})
	}
	return all, nil
}

func UpdateTemplate(s *store.Session, environment string, template []TemplateCategory) error {
	text, err := json.Marshal(template)
	if err != nil {
		return err
	}
	_, err = s.Exec("INSERT INTO environments (id, template) VALUES (?, ?) ON CONFLICT DO UPDATE SET template = excluded.template",
		environment, string(text))
	return err
}
