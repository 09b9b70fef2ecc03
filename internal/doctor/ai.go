package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

// soon is the time before the removal of a model in which doctor warns.
const soon = 90 * 24 * time.Hour

// usesAI reports whether an AI content service is configured separately.
func (d *Doctor) usesAI() bool {
	if d.Settings == nil || d.Settings.AIURL == "" {
		return false
	}
	at, err := d.Settings.AI()
	return err != nil || at.Kind == config.URL
}

// checkAI lists the models of the AI content service. It needs a valid URL, an accepted token, and a
// model that the token may use.
func (d *Doctor) checkAI(ctx context.Context) Finding {
	s, err := d.Host.OpenAI(ctx)
	if err != nil {
		return d.broken(err)
	}
	d.AI = s
	chosen, err := d.Host.ChooseModel(ctx)
	if err != nil {
		return d.broken(err)
	}
	if !chosen.Removal.IsZero() && chosen.Removal.Before(clock.Now().Add(soon)) {
		return warning("set another model with ai_model", "%s responds, but the model %s is removed on %s", s.URL, chosen.ID, chosen.Removal.Format(time.DateOnly))
	}
	return ok("%s responds and uses the model %s", s.URL, chosen.ID)
}

// checkAIRoutes compares the endpoints that this program calls with those that the service documents.
func (d *Doctor) checkAIRoutes(ctx context.Context) Finding {
	if d.AI == nil {
		return unchecked("the configuration of the AI content service is not usable")
	}
	description, err := d.AI.Client.Description(ctx)
	switch {
	case errors.Is(err, ai.ErrNoDescription):
		return unchecked("%s has no OpenAPI document at /v1/doc.json or /v1/api/doc.json, so assumed endpoints cannot be confirmed", d.AI.URL)
	case err != nil:
		return warning("run doctor again", "the OpenAPI document of the AI content service cannot be read: %v", err)
	}
	return d.judgeRoutes(description.Path, d.AI.Client.Compare(description))
}

// judgeRoutes reports confirmed, moved and missing endpoints; confirmed ones only with --verbose.
// Usage is documented for the hosted service only, and health for installations on premises only.
func (d *Doctor) judgeRoutes(path string, all []ai.Comparison) Finding {
	var moved []ai.Comparison
	var facts []event.Fact
	var lines []string
	confirmed, missing := 0, 0
	for _, c := range all {
		said := fmt.Sprintf("%s: %s", c.Standing, c.Route)
		isFine := c.Standing == ai.Confirmed
		switch {
		case isFine:
			confirmed++
		case c.Standing == ai.Moved:
			moved, said = append(moved, c), fmt.Sprintf("%s, probably %s", said, c.At)
		case c.Endpoint == "Usage" && !d.AI.Limited:
			isFine, said = true, said+", as on premises"
		case c.Endpoint == "Health" && d.AI.Limited:
			isFine, said = true, said+", as in the hosted service"
		default:
			missing++
		}
		facts = append(facts, event.Fact{Name: string(c.Endpoint), Value: said})
		if !isFine || d.Verbose {
			lines = append(lines, fmt.Sprintf("%15s%-20s  %s", "", c.Endpoint, ui.Sanitize(said)))
		}
	}
	f := ok("%s of the service confirms %d of %s", path, confirmed, ui.Counted(int64(len(all)), "endpoint"))
	switch {
	case len(moved) > 0:
		f = warning("compare these lines with "+d.AI.URL+"/v1/docs, then add the lines below to "+config.DefaultFile,
			"%s of the service confirms %d of %s, has %d at another path and lacks %d", path, confirmed, ui.Counted(int64(len(all)), "endpoint"), len(moved), missing)
		lines = append(lines, d.routeLines(moved)...)
	case missing > 0:
		f = warning("find them in "+d.AI.URL+"/v1/docs and set ai_route; other endpoints are not affected",
			"%s of the service confirms %d of %s and lacks %d", path, confirmed, ui.Counted(int64(len(all)), "endpoint"), missing)
	}
	f.Details, f.After = facts, strings.Join(lines, "\n")
	return f
}

// routeLines returns the setting with the new paths of moved endpoints, ready for the configuration
// file. It includes the present entries for others.
func (d *Doctor) routeLines(moved []ai.Comparison) []string {
	lines := []string{"ai_route:"}
	for _, set := range d.Settings.AIRoutes {
		endpoint, _, _ := strings.Cut(set, "=")
		if !isAmong(moved, strings.TrimSpace(endpoint)) {
			lines = append(lines, "  - "+set)
		}
	}
	for _, c := range moved {
		lines = append(lines, "  - "+c.Setting())
	}
	return lines
}

func isAmong(all []ai.Comparison, endpoint string) bool {
	for _, c := range all {
		if string(c.Endpoint) == endpoint {
			return true
		}
	}
	return false
}
