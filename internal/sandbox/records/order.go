package records

import (
	"net/http"

	"assetferry/internal/sandbox/problem"
)

func AssetFields() []SortField {
	return []SortField{{"uploadedAt", "uploaded_at"}, {"name", "normal"}, {"size", "size"}, {"lastModifiedAt", "modified_at"}}
}

// OrderBy gives SQL for an order. Without a field it is by the first one;
// ascending is the default: a guess. Equals are ordered by creation, so that
// pages do not overlap.
func OrderBy(field, order string, fields []SortField) (string, error) {
	direction, ok := map[string]string{"": "ASC", "asc": "ASC", "desc": "DESC"}[order]
	if !ok {
		return "", problem.Refuse(http.StatusBadRequest, "order must be asc or desc.")
	}
	if field == "" {
		field = fields[0].Name
	}
	for _, f := range fields {
		if f.Name == field {
			return f.Column + " " + direction + ", seq " + direction, nil
		}
	}
	return "", problem.Refuse(http.StatusBadRequest, "Cannot sort by %q.", field)
}

// A SortField is a field by which a list can be sorted.
type SortField struct{ Name, Column string }
