package ckbox

import (
	"context"
	"encoding/json"
	"strconv"

	"assetferry/internal/assets"
	"assetferry/sources"
)

// Describe implements sources.Catalog. It makes one request.
func (s *Source) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	if ctx.Err() != nil {
		return sources.Description{}, context.Cause(ctx)
	}
	a, err := s.listed(ctx, o)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	return s.describe(ctx, o, a)
}

// describe returns all metadata that users can set. Custom attributes keep their names, or have the
// name attributes.NAME if the name is that of another field.
func (s *Source) describe(ctx context.Context, o sources.Object, a assets.Asset) (sources.Description, error) {
	category, err := s.category(ctx, a.CategoryID)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	path, err := s.path(ctx, a.FolderID)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	fields := map[string][]string{
		"category": {category.Name}, "private": {strconv.FormatBool(category.Private)}, "name": {a.Filename()},
	}
	add := func(name string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			fields[name] = values
		}
	}
	add("folder", path)
	add("description", a.Metadata.Description)
	add("tags", a.Tags...)
	add("old_url", a.URL)
	for name, value := range a.Metadata.CustomAttributes {
		if name == s.own {
			continue
		}
		if isMeantOtherwise(name) {
			name = "attributes." + name
		}
		add(name, text(value))
	}
	return sources.Description{ContentType: a.MIMEType, Fields: fields}, nil
}

// isMeantOtherwise reports whether the name of a field is reserved, so that it is no custom
// attribute.
func isMeantOtherwise(name string) bool {
	switch name {
	case "description", "alt", "tags", "old_url", "category", "folder", "name", "private":
		return true
	}
	return false
}

// text returns the value of a custom attribute. Values other than texts are JSON; null is "".
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(encoded)
}
