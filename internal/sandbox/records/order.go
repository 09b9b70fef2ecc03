package records

import (
	"net/http"

	"assetferry/internal/sandbox/problem"
)

func AssetFields() []SortField {
	return []SortField{{"uploadedAt", "uploaded_at"}, {"name", "normal"}, {"size", "size"}, {"lastModifiedAt", "modified_at"}}
}

// OrderBy returns SQL for an order. Without a field it uses the first one; ascending is the
// default: a guess. Equal values are sorted by creation, so that pages do not overlap.
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

// A SortField is a field for sorting a list.
type SortField struct{ Name, Column string }
