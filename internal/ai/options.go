package ai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrReserved reports an option that the client sets itself.
var ErrReserved = errors.New("is not an option: assetferry sets it for each request")

// CheckOptions returns an error for options that cannot be sent: those that the client sets itself,
// and invalid JSON. The names of options are not documented, so all other names are accepted.
func (p Processing) CheckOptions() error {
	for name, value := range p.Options {
		switch {
		case name == "":
			return errors.New("an option has no name")
		case slices.Contains([]string{"content", "prompt", "model"}, name):
			return fmt.Errorf("%s %w", name, ErrReserved)
		case !json.Valid(value):
			return fmt.Errorf("the value of the option %s is not JSON", name)
		}
	}
	return nil
}

// searchesWeb reports whether options permit the model to search the web, which has its own limit.
func (p Processing) searchesWeb() bool {
	var capabilities map[string]json.RawMessage
	_ = json.Unmarshal(p.Options["capabilities"], &capabilities)
	search, ok := capabilities["webSearch"]
	return ok && string(search) != "false" && string(search) != "null"
}

// secrets returns the texts in secret options, in the forms in which an answer may repeat them.
func (p Processing) secrets() (all []string) {
	for name := range p.Secret {
		var value any
		if json.Unmarshal(p.Options[name], &value) == nil {
			all = append(all, textsIn(value)...)
		}
	}
	// The longest first, because one may be part of another.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// textsIn returns the texts in a JSON value, without the names of fields and without texts so short
// that an answer may contain them by chance.
func textsIn(value any) (all []string) {
	switch v := value.(type) {
	case string:
		for _, part := range append([]string{v}, strings.Fields(v)...) {
			if len(part) >= 6 && !strings.EqualFold(part, "bearer") {
				all = append(all, part)
			}
		}
	case []any:
		for _, item := range v {
			all = append(all, textsIn(item)...)
		}
	case map[string]any:
		for _, item := range v {
			all = append(all, textsIn(item)...)
		}
	}
	return all
}
