package metadata

import "assetferry/internal/rows"

// fromJSON makes a row of a line.
func fromJSON(r rows.Row) (row, error) {
	var is struct {
		Key         string            `json:"key"`
		Description string            `json:"description"`
		Tags        []string          `json:"tags"`
		Attributes  map[string]string `json:"attributes"`
	}
	if err := r.Decode(&is); err != nil {
		return row{}, err
	}
	e := row{key: rowKey(is.Key), metadata: Metadata{is.Description, is.Tags, is.Attributes}.Normal()}
	if wrong := wrongIn(e); wrong != "" {
		return row{}, r.Mistake(0, wrong)
	}
	return e, nil
}

// wrongIn says what cannot be meant by a row, or nothing.
func wrongIn(e row) string {
	if e.key == "" {
		return noKey
	}
	for name := range e.metadata.Attributes {
		if wrong := wrongAttribute(name); wrong != "" {
			return wrong
		}
	}
	return ""
}
