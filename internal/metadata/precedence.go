package metadata

import (
	"fmt"
	"slices"
	"strings"
)

// ParsePrecedence parses an order of metadata sources, in several texts or separated by commas. The others
// follow in the default order.
func ParsePrecedence(texts []string) ([]Source, error) {
	var order []Source
	for name := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		o := Source(strings.TrimSpace(name))
		switch {
		case !slices.Contains(Precedence(), o):
			return nil, fmt.Errorf("unknown metadata source %q: use %s", o, sourceNames(Precedence()))
		case slices.Contains(order, o):
			return nil, fmt.Errorf("duplicate metadata source %q", o)
		}
		order = append(order, o)
	}
	for _, o := range Precedence() {
		if !slices.Contains(order, o) {
			order = append(order, o)
		}
	}
	return order, nil
}

// ParseSources parses metadata sources, in several texts or separated by commas, or "all".
func ParseSources(texts []string) ([]Source, error) {
	if slices.Equal(texts, []string{"all"}) {
		return Precedence(), nil
	}
	order, err := ParsePrecedence(texts)
	if err != nil {
		return nil, err
	}
	return order[:len(strings.Split(strings.Join(texts, ","), ","))], nil
}

func sourceNames(all []Source) string {
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = string(o)
	}
	return strings.Join(names, ", ")
}
