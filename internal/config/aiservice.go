package config

import (
	"fmt"
	"slices"
	"strings"
)

// An AIService is the AI content service and what opens it. Of the sandbox, the address
// and the references are empty.
type AIService struct {
	Kind Kind
	URL  string // without a slash at its end; with or without a version

	// Exactly one of the last three is set. The environment goes with the key alone: a
	// token says by itself what it is for.
	Environment  Reference
	AccessKey    Reference
	TokenCommand string    // a command line that prints tokens
	TokenURL     Reference // the address of a token endpoint, which may hold a secret

	User, CAFile string
}

// The variables that open the AI content service where it is not opened as the
// destination is; all but the command also with _FILE and _COMMAND after their names.
const (
	aiEnvironmentID = "ASSETFERRY_AI_ENVIRONMENT_ID"
	aiAccessKey     = "ASSETFERRY_AI_ACCESS_KEY"
	aiTokenURL      = "ASSETFERRY_AI_TOKEN_URL"
	aiTokenCommand  = "ASSETFERRY_AI_TOKEN_COMMAND"
)

// AI works out where the AI content service is and what opens it: variables of its own,
// or else what opens the destination. With the sandbox as destination it is the stand-in
// beside it, unless a switch says otherwise. It is a *UsageError if nothing says where, or
// if the credentials are not complete.
func (s *Settings) AI() (AIService, error) {
	switch {
	case s.To == sandboxName && s.origin["ai_url"] != FromFlag:
		return AIService{Kind: Sandbox, User: s.sandbox().User}, nil
	case s.AIURL == "":
		return AIService{}, &UsageError{
			Msg:  "no AI content service is configured",
			Hint: "set ASSETFERRY_AI_URL or give --ai-url, or --to sandbox to try it out; assetferry help enrich tells more",
		}
	}
	if err := checkAddress(s.AIURL, s.AllowHTTP); err != nil {
		return AIService{}, s.wrong("ai_url", "AI content service: "+err.Error(), "")
	}
	ai := AIService{Kind: Address, URL: strings.TrimRight(s.AIURL, "/"), User: s.User, CAFile: s.CAFile}
	if n, ok := s.Destinations[s.To]; ok {
		ai.User, ai.CAFile = s.prefer("user", n.User), s.prefer("ca_file", n.CAFile)
	}
	return ai, s.openAI(&ai)
}

// openAI finds what opens the service: one way of its own, or the key of the destination.
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
		return &UsageError{Msg: ai.Environment.Origin + " is set, and no access key that belongs to it", Hint: "set " + aiAccessKey + ", too"}
	case len(ways) == 1 && (ai.AccessKey.IsZero() || !ai.Environment.IsZero()):
		return nil
	}
	return s.openAILikeDestination(ai)
}

// openAILikeDestination takes what is missing from what opens the destination. A command
// that prints tokens of the asset management service cannot stand in for a key.
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
			Hint: fmt.Sprintf("set %s and %s, or %s, or what opens the destination", aiEnvironmentID, aiAccessKey, aiTokenURL),
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
