package metadata

import (
	"fmt"
	"slices"
	"strings"
)

// ParsePrecedence reads an order of origins, in several texts or in one with commas. Those
// that it does not name come after it in their usual order.
func ParsePrecedence(texts []string) ([]Origin, error) {
	var order []Origin
	for name := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		o := Origin(strings.TrimSpace(name))
		switch {
		case !slices.Contains(Precedence(), o):
			return nil, fmt.Errorf("%q is not one of %s", o, origins(Precedence()))
		case slices.Contains(order, o):
			return nil, fmt.Errorf("%q is there twice", o)
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

// ParseOrigins reads some origins, in several texts or in one with commas, or all of them.
func ParseOrigins(texts []string) ([]Origin, error) {
	if slices.Equal(texts, []string{"all"}) {
		return Precedence(), nil
	}
	order, err := ParsePrecedence(texts)
	if err != nil {
		return nil, err
	}
	return order[:len(strings.Split(strings.Join(texts, ","), ","))], nil
}

func origins(all []Origin) string {
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = string(o)
	}
	return strings.Join(names, ", ")
}
