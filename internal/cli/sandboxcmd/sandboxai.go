package sandboxcmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/fault"
)

// sandboxAI are the flags for the AI content service.
type sandboxAI struct {
	off    bool
	listen string

	listenChanged bool

	faults     []string
	rates      string
	credits    float64
	onPremises bool
	profile    string
}

func (o *sandboxAI) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.off, "no-ai", false, "turn off the AI content service")
	f.StringVar(&o.listen, "ai-listen", "127.0.0.1:0", "`address` to listen on for the AI content service")
	f.StringArrayVar(&o.faults, "ai-fault", nil, "apply this fault `rule` to the AI content service (repeatable)")
	f.StringVar(&o.rates, "ai-rates", "off", "`limits` per minute for a user and for all users: off, saas, or a list such as llm=75/1000,search=30/300 (also scrape, tokens)")
	f.Float64Var(&o.credits, "ai-credits", 0, "refuse requests beyond this `number` of credits (default no limit)")
	f.StringVar(&o.profile, "ai-profile", "", "behave like the AI content service that this `file` from doctor --probe describes")
	f.BoolVar(&o.onPremises, "ai-on-premises", false, "behave as an on-premises installation: no billing, no limits")
}

// start runs the AI content service.
func (o *sandboxAI) start(ctx context.Context, beside sandbox.Options) (*runningAI, error) {
	if o.off {
		return &runningAI{stop: func() error { return nil }}, nil
	}
	options := aiservice.Options{
		Dir: command.Besides(beside.Dir), Latency: beside.Latency, Log: beside.Log, Now: beside.Now,
		Environments: beside.Environments, Credits: o.credits, OnPremises: o.onPremises,
	}
	var err error
	if options.Limits, err = aiservice.ParseLimits(o.rates); err != nil {
		return nil, exit.Usage(fmt.Errorf("--ai-rates %q: %w", o.rates, err), "use off, saas, or as in llm=75/1000,tokens=1e6/16e6")
	}
	if options.Profile, err = readAIProfile(o.profile); err != nil {
		return nil, err
	}
	for _, text := range o.faults {
		f, err := fault.Parse(text)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--ai-fault %q: %w", text, err), "show the syntax:\n  assetferry sandbox --help")
		}
		options.Faults = append(options.Faults, f)
	}
	s, err := aiservice.New(options)
	if err != nil {
		return nil, err
	}
	r := &runningAI{tokenPath: s.TokenPath()}
	r.url, r.stop, err = command.Serve(ctx, s, o.listen)
	return r, err
}

// readAIProfile reads the profile of an AI content service. Without a name it returns the default.
func readAIProfile(name string) (p aiservice.Profile, err error) {
	if name == "" {
		return p, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return p, exit.Usage(fmt.Errorf("--ai-profile: %w", err), "create a profile:\n  assetferry doctor --probe")
	}
	defer f.Close()
	if p, err = aiservice.ReadProfile(name, f); err != nil {
		return p, exit.Usage(fmt.Errorf("--ai-profile: %w", err), "list the settings of a profile:\n  assetferry help profile")
	}
	return p, nil
}

// A runningAI is a started AI content service. Its URL is "" if it is off.
type runningAI struct {
	url, tokenPath string
	stop           func() error
}
