package aiservice

import (
	"cmp"
	"net/http"
	"time"
)

// A Model is an available model.
type Model struct {
	ID, Name, Provider string
	Description        string            // in English
	Descriptions       map[string]string // in other languages, by their codes
	Recommended        bool
	WebSearch          bool
	Reasoning          bool

	MaxContextLength int // characters of a prompt with its attachments
	MaxFiles         int // per conversation
	MaxFileSize      int // bytes
	MaxImageSize     int // bytes
	MaxTotalFileSize int // bytes per conversation
	MaxPDFPages      int // per conversation

	// Removal is the first day on which the model cannot be used; zero: none is planned.
	Removal time.Time
	// Weight is the weight of its tokens in limits and credits; 0 means 1. Responses do not contain
	// it.
	Weight float64
}

// Limits of files for all models, unless a model has smaller ones.
const (
	maxFileSize      = 25_000_000
	maxImageSize     = 5_000_000 // for the families that have a limit
	maxTotalFileSize = 30_000_000
	maxFiles         = 100
	maxPDFPages      = 100
	maxContextLength = 256_000
)

// DefaultModels returns an agent, some models of three providers, one with a planned removal and
// one that is removed.
func DefaultModels() []Model {
	all := []Model{
		{ID: "agent-1", Name: "Agent", Provider: "Agent", Recommended: true, MaxImageSize: maxImageSize,
			Description: "Chooses a model for each task.",
			Descriptions: map[string]string{
				"de": "Wählt für jede Aufgabe ein Modell.", "fr": "Choisit un modèle pour chaque tâche.",
				"es": "Elige un modelo para cada tarea.", "pl": "Wybiera model do każdego zadania.",
			}},
		{ID: "gpt-5.4-mini", Name: "GPT-5.4 mini", Provider: "OpenAI", Weight: 0.5, Description: "Fast, for short texts."},
		{ID: "gpt-5.1", Name: "GPT-5.1", Provider: "OpenAI", Weight: 2, Removal: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC),
			Description: "A deprecated model."},
		{ID: "claude-4-6-sonnet", Name: "Claude 4.6 Sonnet", Provider: "Anthropic", Weight: 3, MaxImageSize: maxImageSize,
			Description: "Careful, for long texts."},
		{ID: "gemini-3-flash", Name: "Gemini 3 Flash", Provider: "Google", Weight: 0.5, Description: "Fast, for pictures."},
		{ID: "gpt-4.1", Name: "GPT-4.1", Provider: "OpenAI", Removal: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC),
			Description: "A removed model."},
	}
	for i := range all {
		m := &all[i]
		m.WebSearch, m.Reasoning = true, m.Provider != "Google"
		m.MaxContextLength, m.MaxFiles, m.MaxFileSize = maxContextLength, maxFiles, maxFileSize
		m.MaxImageSize = cmp.Or(m.MaxImageSize, maxFileSize)
		m.MaxTotalFileSize, m.MaxPDFPages = maxTotalFileSize, maxPDFPages
	}
	return all
}

func (m Model) isRemoved(now time.Time) bool { return !m.Removal.IsZero() && !now.Before(m.Removal) }

func (m Model) weight() float64 { return cmp.Or(m.Weight, 1) }

// scope returns the scopes that permit the model, as alternatives: agents have a scope without a
// provider.
func (m Model) scope() []string {
	if m.Provider == "Agent" {
		return []string{"ai:models:agent", "ai:models:agent:" + m.ID}
	}
	return []string{"ai:models:" + lower(m.Provider) + ":" + m.ID}
}

type modelView struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Provider     string `json:"provider"`
	Description  string `json:"description"`
	Recommended  bool   `json:"recommended"`
	Allowed      bool   `json:"allowed"`
	Capabilities struct {
		WebSearch capability `json:"webSearch"`
		Reasoning capability `json:"reasoning"`
	} `json:"capabilities"`
	Limits  modelLimits `json:"limits"`
	Removal string      `json:"removal,omitempty"`
}

type capability struct {
	Enabled bool `json:"enabled"`
	Allowed bool `json:"allowed"`
}

type modelLimits struct {
	MaxContextLength     int `json:"maxContextLength"`
	MaxFiles             int `json:"maxFiles"`
	MaxFileSize          int `json:"maxFileSize"`
	MaxImageSize         int `json:"maxImageSize"`
	MaxTotalFileSize     int `json:"maxTotalFileSize"`
	MaxTotalPDFFilePages int `json:"maxTotalPdfFilePages"`
}

func (m Model) view(who identity, language string) modelView {
	v := modelView{
		ID: m.ID, Name: m.Name, Provider: m.Provider, Recommended: m.Recommended,
		Description: cmp.Or(m.Descriptions[language], m.Description), Allowed: who.scopes.grant(m.scope()...),
		Limits: modelLimits{m.MaxContextLength, m.MaxFiles, m.MaxFileSize, m.MaxImageSize, m.MaxTotalFileSize, m.MaxPDFPages},
	}
	v.Capabilities.WebSearch = capability{m.WebSearch, m.WebSearch && who.scopes.grant(useWebSearch()...)}
	v.Capabilities.Reasoning = capability{m.Reasoning, m.Reasoning && who.scopes.grant(useReasoning)}
	if !m.Removal.IsZero() {
		v.Removal = m.Removal.Format(time.DateOnly)
	}
	return v
}

// listModels accepts the only known compatibility version. Others break the service on premises.
func (s *Server) listModels(c *call) error {
	switch c.args[0] {
	case "1":
	case "v1", "v2", "latest":
		return refuse(http.StatusInternalServerError, "internal-server-error", "%q is not a compatibility version.", c.args[0])
	default:
		return refuse(http.StatusNotFound, "unknown-compatibility-version", "Unknown compatibility version %q; the only version is 1.", c.args[0])
	}
	items := []modelView{}
	for _, m := range s.options.Models {
		items = append(items, m.view(c.who, lower(c.query.Get("language"))))
	}
	return c.Reply(http.StatusOK, map[string]any{cmp.Or(s.options.Profile.Models, "items"): items})
}

// usable returns the model for a request, and refuses one that the token does not permit.
func (s *Server) usable(c *call, id string) (Model, error) {
	m, ok := s.model(id)
	if !ok {
		return Model{}, &problem{
			status: http.StatusNotFound, code: "MODEL_NOT_FOUND", message: "There is no model " + id + ", or it has been removed.",
			action: "Choose one of GET /v1/models/1.",
		}
	}
	return m, c.who.need(m.scope())
}
