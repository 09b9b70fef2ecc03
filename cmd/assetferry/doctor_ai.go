package main

import (
	"context"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/config"
)

// soon is how long before a model goes people should know.
const soon = 90 * 24 * time.Hour

// usesAI reports whether an AI content service is configured beside the destination.
func (d *doctor) usesAI() bool {
	if d.settings == nil || d.settings.AIURL == "" {
		return false
	}
	at, err := d.settings.AI()
	return err != nil || at.Kind == config.Address
}

// checkAI asks the AI content service for its models: that takes its address, a token that
// it takes, and a model that the token may use.
func (d *doctor) checkAI(ctx context.Context) finding {
	s, err := d.openAI(ctx)
	if err != nil {
		return broken(err)
	}
	chosen, err := d.chooseModel(ctx, s)
	if err != nil {
		return broken(err)
	}
	if !chosen.Removal.IsZero() && chosen.Removal.Before(clock.Now().Add(soon)) {
		return warning("choose another one with ai_model", "%s answers, and the model %s goes on %s", s.url, chosen.ID, chosen.Removal.Format(time.DateOnly))
	}
	return ok("%s answers, and describes with %s", s.url, chosen.ID)
}
