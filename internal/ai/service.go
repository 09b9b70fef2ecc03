package ai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Health is the state that a service reports, at least on premises.
type Health struct {
	ServiceName string  `json:"serviceName"`
	Uptime      float64 `json:"uptime"` // seconds
}

// Health requests the state of the service. It needs no token.
func (c *Client) Health(ctx context.Context) (h Health, err error) {
	err = c.ask(ctx, &request{op: "check health", endpoint: "Health", public: true}, &h)
	return h, err
}

// A Model is a language model of the service.
type Model struct {
	ID, Name, Provider, Description string

	Recommended bool // a hint for people
	Allowed     bool // false: the token or the plan lacks it
	WebSearch   Capability
	Reasoning   Capability
	Limits      ModelLimits
	Removal     time.Time // planned date of removal; zero: none
}

// A Capability is an optional capability of a model.
type Capability struct {
	Enabled bool `json:"enabled"`
	Allowed bool `json:"allowed"` // by the token and the plan
}

// ModelLimits are the limits of a model; 0 means unknown.
type ModelLimits struct {
	MaxContextLength     int64 // characters
	MaxFiles             int64 // per conversation
	MaxFileSize          int64 // bytes
	MaxImageSize         int64 // bytes
	MaxTotalFileSize     int64 // bytes per conversation
	MaxTotalPDFFilePages int64 // per conversation
}

// UnmarshalJSON decodes a model of the current or an earlier version of the service.
func (m *Model) UnmarshalJSON(data []byte) error {
	var w struct {
		ID, Name, Provider, Description string
		Recommended                     bool
		Allowed                         *bool
		Capabilities                    struct{ WebSearch, Reasoning Capability }
		Limits                          struct {
			ModelLimits
			MaxConversationLength int64 // of earlier versions
		}
		Removal string
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*m = Model{
		ID: w.ID, Name: w.Name, Provider: w.Provider, Description: w.Description,
		Recommended: w.Recommended, Allowed: w.Allowed == nil || *w.Allowed,
		WebSearch: w.Capabilities.WebSearch, Reasoning: w.Capabilities.Reasoning,
		Limits: w.Limits.ModelLimits,
	}
	if m.Limits.MaxContextLength == 0 {
		m.Limits.MaxContextLength = w.Limits.MaxConversationLength
	}
	if w.Removal == "" {
		return nil
	}
	var err error
	if m.Removal, err = time.Parse(time.RFC3339, w.Removal); err != nil {
		m.Removal, err = time.Parse(time.DateOnly, w.Removal)
	}
	return err
}

// IsRemoved reports whether a model is removed at a time.
func (m *Model) IsRemoved(now time.Time) bool { return !m.Removal.IsZero() && !m.Removal.After(now) }

type models struct {
	Items  []Model
	Models []Model // on premises, in place of items
}

func (m *models) check() error {
	if m.Items == nil && m.Models == nil {
		return errors.New("no list of models")
	}
	return nil
}

// Models returns all models, including those that the token may not use.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	query := url.Values{}
	if c.language != "" {
		query.Set("language", c.language)
	}
	var got models
	err := c.ask(ctx, &request{op: "list models", endpoint: "Models", ids: []string{c.compatibility}, query: query}, &got)
	if got.Items == nil {
		got.Items = got.Models
	}
	return got.Items, err
}

// defaultModel is the only documented name of a model.
const defaultModel = "agent-1"

// ChooseModel returns a model from the list of the service: the wanted one or, if wanted is empty,
// the first one that is recommended and allowed, else agent-1, else the first allowed one. Models
// with a date of removal come last. The error satisfies errors.Is(err, ErrModel).
func ChooseModel(all []Model, wanted string) (Model, error) {
	if wanted != "" {
		for _, m := range all {
			if m.ID == wanted && m.Allowed {
				return m, nil
			}
		}
		return Model{}, fmt.Errorf("%w that the token may use: %q; the models are %s", ErrModel, wanted, allowedNames(all))
	}
	best, rank := Model{}, 0
	for _, m := range all {
		if r := m.rank(); r > rank {
			best, rank = m, r
		}
	}
	if rank == 0 {
		return Model{}, fmt.Errorf("%w that the token may use; the token needs a scope such as ai:models:agent", ErrModel)
	}
	return best, nil
}

// rank returns the preference for a model; 0 means that it must not be used.
func (m *Model) rank() int {
	rank := 1
	switch {
	case !m.Allowed:
		return 0
	case m.Recommended:
		rank = 3
	case m.ID == defaultModel:
		rank = 2
	}
	if m.Removal.IsZero() {
		rank += 3
	}
	return rank
}

func allowedNames(all []Model) string {
	var names []string
	for _, m := range all {
		if m.Allowed {
			names = append(names, m.ID)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}
