package config

import (
	"fmt"
	"slices"
	"strings"
)

// An AIService is the AI content service and its credentials. For the sandbox, the URL and the
// references are empty.
type AIService struct {
	Kind Kind
	URL  string // without a slash at its end; with or without a version

	// Exactly one of the last three is set. Only a key needs the environment: a token names its own.
	Environment  Reference
	AccessKey    Reference
	TokenCommand string    // a command line that prints tokens
	TokenURL     Reference // the URL of a token endpoint, which may hold a secret

	User, CAFile string
}

// The variables with credentials of the AI content service, if they differ from those of the
// destination. All but the command also exist with _FILE and _COMMAND at the end.
const (
	aiEnvironmentID = "ASSETFERRY_AI_ENVIRONMENT_ID"
	aiAccessKey     = "ASSETFERRY_AI_ACCESS_KEY"
	aiTokenURL      = "ASSETFERRY_AI_TOKEN_URL"
	aiTokenCommand  = "ASSETFERRY_AI_TOKEN_COMMAND"
)

// AI returns the AI content service and its credentials: from variables of its own, or else those
// of the destination. With the sandbox as destination it is the stand-in beside it, unless a flag
// says otherwise. It is a *UsageError if nothing names the service, or if the credentials are
// incomplete.
func (s *Settings) AI() (AIService, error) {
	switch {
	case s.To == sandboxName && s.origin["ai_url"] != FromFlag:
		return AIService{Kind: Sandbox, User: s.sandbox().User}, nil
	case s.AIURL == "":
		return AIService{}, &UsageError{
			Msg:  "no AI content service is configured",
			Hint: "set ASSETFERRY_AI_URL or --ai-url, or use --to sandbox for a test (see assetferry help enrich)",
		}
	}
	if err := checkURL(s.AIURL, s.AllowHTTP); err != nil {
		return AIService{}, s.wrong("ai_url", "AI content service: "+err.Error(), "")
	}
	ai := AIService{Kind: URL, URL: strings.TrimRight(s.AIURL, "/"), User: s.User, CAFile: s.CAFile}
	if n, ok := s.Destinations[s.To]; ok {
		ai.User, ai.CAFile = s.prefer("user", n.User), s.prefer("ca_file", n.CAFile)
	}
	return ai, s.openAI(&ai)
}

// openAI finds the credentials of the service: its own, or the key of the destination.
func (s *Settings) openAI(ai *AIService) (err error) {
	if ai.TokenURL, err = s.reference(aiTokenURL); err != nil {
		return err
	}
	if ai.AccessKey, err = s.reference(aiAccessKey); err != nil {
		return err
	}
	if ai.Environment, err = s.reference(aiEnvironmentID); err != nil {
		return err
	}
	ai.TokenCommand = s.env.get(aiTokenCommand)
	ways := slices.DeleteFunc([]string{ai.TokenURL.Origin, ai.AccessKey.Origin}, func(name string) bool { return name == "" })
	if ai.TokenCommand != "" {
		ways = append(ways, aiTokenCommand)
	}
	switch {
	case len(ways) > 1:
		return bothSet(ways[0], ways[1])
	case len(ways) == 0 && !ai.Environment.IsZero():
		return &UsageError{Msg: ai.Environment.Origin + " is set, but its access key is not", Hint: "also set " + aiAccessKey}
	case len(ways) == 1 && (ai.AccessKey.IsZero() || !ai.Environment.IsZero()):
		return nil
	}
	return s.openAILikeDestination(ai)
}

// openAILikeDestination takes missing credentials from those of the destination. A command that
// prints tokens of the asset management service cannot replace a key.
func (s *Settings) openAILikeDestination(ai *AIService) error {
	name := ""
	n, named := s.Destinations[s.To]
	if named {
		name = s.To
	}
	c, err := s.credentials(name, n)
	switch {
	case err != nil:
		return &UsageError{
			Msg:  "the AI content service has no credentials: " + err.Error(),
			Hint: fmt.Sprintf("set %s and %s, or %s, or the credentials of the destination", aiEnvironmentID, aiAccessKey, aiTokenURL),
		}
	case ai.AccessKey.IsZero() && c.accessKey.IsZero():
		return &UsageError{
			Msg:  "the token command of " + c.place + " makes tokens of the asset management service; the AI content service takes others",
			Hint: fmt.Sprintf("set %s to a command that prints these, %s, or %s and %s", aiTokenCommand, aiTokenURL, aiEnvironmentID, aiAccessKey),
		}
	case ai.AccessKey.IsZero():
		ai.AccessKey = c.accessKey
	}
	ai.Environment = c.environment
	return nil
}
