package aiservice

import (
	"errors"
	"testing"
)

func TestFetchFollowsPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		policy  reach
		addr    string
		refused bool
	}{
		"elsewhere":           {reach{}, "192.0.2.1:80", true},
		"all of this machine": {reach{}, "[::1]:80", false},
		"where it was told":   {reach{from: []string{"192.0.2.1:80"}}, "192.0.2.1:80", false},
		"at another port":     {reach{from: []string{"192.0.2.1:80"}}, "192.0.2.1:81", true},
		"anywhere":            {reach{anywhere: true}, "192.0.2.1:80", false},
		"an address mapped":   {reach{}, "[::ffff:192.0.2.1]:80", true},
		"an unspecified one":  {reach{}, "0.0.0.0:80", true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.policy.check(test.addr); errors.Is(err, errElsewhere) != test.refused {
				t.Errorf("error %v, want a refusal: %v", err, test.refused)
			}
		})
	}
}
