package setupcmd

import (
	"context"
	"errors"
	"strings"

	"assetferry/internal/ai/aiprobe"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/clock"
	"assetferry/internal/ui"
)

// probeAI measures undocumented behaviour of the AI content service, if one is configured.
func (d *examination) probeAI(ctx context.Context, name string) error {
	if d.ai == nil {
		return nil
	}
	result, err := aiprobe.Run(ctx, aiprobe.Options{
		NewClients: d.ai.NewClients, Service: d.ai.URL, Now: clock.Now,
		Step: func(what string) { d.Out.Log().Debug("probe of the AI content service", "measures", what) },
	})
	for _, left := range result.Left {
		id := strings.TrimPrefix(left, "the conversation ")
		d.Out.Notef("Not deleted at the AI content service: %s. To delete it:\n  %s", ui.Sanitize(left), cmdline.Line("ai conversations rm", nil, id))
	}
	if result.Measured {
		err = errors.Join(d.saveAIProfile(result, name), err)
	}
	return err
}

func (d *examination) saveAIProfile(result aiprobe.Result, name string) error {
	err := d.saveProfile(result.Profile, name, "ai_probe", "Behaviour of the AI content service")
	if err == nil {
		d.Out.Printf("\n%s, none of them billed. The profile is in %s.", ui.Counted(result.Requests, "request"), ui.Sanitize(name))
	}
	return err
}

// announceAIProbe describes the probe of the AI content service.
func (d *examination) announceAIProbe() {
	if d.ai != nil {
		d.Out.Notef("It also creates conversations %q... and an image of one pixel at %s,\nwith at most %s that are not billed, and deletes them.",
			aiprobe.Prefix, ui.Sanitize(d.ai.URL), ui.Counted(int64(aiprobe.MostCalls()), "request"))
	}
}
