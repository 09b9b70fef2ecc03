package ai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrReserved means that an option is one that the client sets itself.
var ErrReserved = errors.New("is not an option: assetferry sets it for each request")

// CheckOptions finds options that cannot be sent: those that the client sets itself, and what is
// no JSON. How options are spelled is not public, so any other name is passed on as it is.
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

// searchesWeb reports whether options let the model search the web, which counts against a limit
// of its own.
func (p Processing) searchesWeb() bool {
	var capabilities map[string]json.RawMessage
	_ = json.Unmarshal(p.Options["capabilities"], &capabilities)
	search, ok := capabilities["webSearch"]
	return ok && string(search) != "false" && string(search) != "null"
}

// secrets are the texts in options that hold some, in the ways in which an answer may repeat them.
func (p Processing) secrets() (all []string) {
	for name := range p.Secret {
		var value any
		if json.Unmarshal(p.Options[name], &value) == nil {
			all = append(all, textsIn(value)...)
		}
	}
	// The longest first: one may be a part of another.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// textsIn are the texts in a JSON value but for the names of fields: those that are longer than
// what any answer has by chance.
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
