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

// soon is how long before a model goes people should know.
const soon = 90 * 24 * time.Hour

// usesAI reports whether an AI content service is configured beside the destination.
func (d *Doctor) usesAI() bool {
	if d.Settings == nil || d.Settings.AIURL == "" {
		return false
	}
	at, err := d.Settings.AI()
	return err != nil || at.Kind == config.Address
}

// checkAI asks the AI content service for its models: that takes its address, a token that
// it takes, and a model that the token may use.
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
		return warning("choose another one with ai_model", "%s answers, and the model %s goes on %s", s.URL, chosen.ID, chosen.Removal.Format(time.DateOnly))
	}
	return ok("%s answers, and describes with %s", s.URL, chosen.ID)
}

// checkAIRoutes compares the endpoints that this program calls with those that the service says it
// has.
func (d *Doctor) checkAIRoutes(ctx context.Context) Finding {
	if d.AI == nil {
		return unchecked("there is no usable configuration of the AI content service")
	}
	description, err := d.AI.Client.Description(ctx)
	switch {
	case errors.Is(err, ai.ErrNoDescription):
		return unchecked("%s does not describe its endpoints in OpenAPI, at /v1/doc.json or /v1/api/doc.json; those that are guesses stay guesses", d.AI.URL)
	case err != nil:
		return warning("run it again", "the description of the AI content service cannot be read: %v", err)
	}
	return d.judgeRoutes(description.Path, d.AI.Client.Compare(description))
}

// judgeRoutes says which endpoints are confirmed, moved or missing. Those that are confirmed are
// shown with --verbose. Usage is documented for the vendor's service only, and health for
// installations on premises.
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
			moved, said = append(moved, c), fmt.Sprintf("%s, it seems to be %s", said, c.At)
		case c.Endpoint == "Usage" && !d.AI.Limited:
			isFine, said = true, said+", as on premises"
		case c.Endpoint == "Health" && d.AI.Limited:
			isFine, said = true, said+", as at the vendor's"
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
		f = warning("check these lines against "+d.AI.URL+"/v1/docs, and put what is below them into "+config.DefaultFile,
			"%s of the service confirms %d of %s, has %d elsewhere, and lacks %d", path, confirmed, ui.Counted(int64(len(all)), "endpoint"), len(moved), missing)
		lines = append(lines, d.routeLines(moved)...)
	case missing > 0:
		f = warning("look for them in "+d.AI.URL+"/v1/docs, and set ai_route; nothing else is affected",
			"%s of the service confirms %d of %s, and lacks %d", path, confirmed, ui.Counted(int64(len(all)), "endpoint"), missing)
	}
	f.Details, f.After = facts, strings.Join(lines, "\n")
	return f
}

// routeLines are the setting that has moved endpoints called where they are, ready for the
// configuration file: with what it says already of others.
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
