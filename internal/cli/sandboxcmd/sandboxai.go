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

// sandboxAI are the switches about the stand-in of the AI content service.
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
	f.BoolVar(&o.off, "no-ai", false, "run no AI content service")
	f.StringVar(&o.listen, "ai-listen", "127.0.0.1:0", "`address` of the AI content service")
	f.StringArrayVar(&o.faults, "ai-fault", nil, "fault `rule` for the AI content service (repeatable)")
	f.StringVar(&o.rates, "ai-rates", "off", "`limits` per minute, for a user and for all: off, saas, or such as llm=75/1000,search=30/300")
	f.Float64Var(&o.credits, "ai-credits", 0, "refuse requests above this `number` of credits (default: no limit)")
	f.StringVar(&o.profile, "ai-profile", "", "`file` from doctor --probe: behave like that AI content service")
	f.BoolVar(&o.onPremises, "ai-on-premises", false, "behave like an on-premises installation: no billing, no limits")
}

// start runs the stand-in until it is stopped.
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
		return nil, exit.Usage(fmt.Errorf("--ai-rates %q: %w", o.rates, err), "off, saas, or such as llm=75/1000,tokens=1e6/16e6")
	}
	if options.Profile, err = readAIProfile(o.profile); err != nil {
		return nil, err
	}
	for _, text := range o.faults {
		f, err := fault.Parse(text)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--ai-fault %q: %w", text, err), "assetferry sandbox --help explains the rules")
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

// readAIProfile reads the profile of an AI content service; without a name it is the sandbox's own.
func readAIProfile(name string) (p aiservice.Profile, err error) {
	if name == "" {
		return p, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return p, exit.Usage(fmt.Errorf("--ai-profile: %w", err), "assetferry doctor --probe writes one")
	}
	defer f.Close()
	if p, err = aiservice.ReadProfile(name, f); err != nil {
		return p, exit.Usage(fmt.Errorf("--ai-profile: %w", err), "assetferry help profile lists its fields")
	}
	return p, nil
}

// A runningAI is a stand-in of the AI content service that answers; its address is empty
// where it was left out.
type runningAI struct {
	url, tokenPath string
	stop           func() error
}
