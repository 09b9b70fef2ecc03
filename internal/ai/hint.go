package ai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"assetferry/internal/outbound"
)

// hinted are errors with a hint, such as those of a token endpoint.
type hinted interface {
	error
	Hint() string
}

// Hint returns the next step for a person, or "".
func (e *Error) Hint() string {
	if own, ok := errors.AsType[hinted](e.Err); ok && own.Hint() != "" {
		return own.Hint()
	}
	switch {
	case e.auth:
		return "check the credentials"
	case errors.Is(e.Err, ErrNoUsage):
		return "check the user ID, which is the sub claim of the tokens. A service may omit a user without usage: start the first run without --max-credits. To list the active users:\n  assetferry ai usage"
	case e.final:
		return "check the URL of the service, and compare its endpoints:\n  assetferry doctor"
	case e.Err != nil:
		return outbound.Hint(e.Err, e.where)
	}
	if hint := e.hintOfCode(); hint != "" {
		return hint
	}
	return e.hintOfStatus()
}

// hintOfCode returns the hint for an error code. The codes about files are guesses.
func (e *Error) hintOfCode() string {
	code := strings.ToLower(e.Code)
	switch {
	case e.isCredits():
		return "the environment has no credits left: wait for the next period or extend the plan. To show the usage:\n  assetferry ai usage"
	case e.isModel():
		return "the model does not exist: choose another one with --ai-model. To list the models:\n  assetferry ai models"
	case e.isContext():
		return "the context does not exist. To list the contexts:\n  assetferry ai contexts ls"
	case len(e.FlaggedCategories()) > 0, code == "moderation-flagged":
		return "moderation rejects this content: check it, and write this text yourself"
	case code == "unknown-compatibility-version":
		return "every service supports compatibility version 1: omit --ai-compatibility"
	case code == "environment-not-found":
		return "the AI content service does not know the environment: check the environment ID, and that " + e.where + " is in its region"
	case code == "image-too-large":
		return "the image exceeds the limit" + e.limitText() + ": send a smaller image"
	case strings.HasSuffix(code, "-too-large"), code == "total-file-size-exceeded":
		return "the files exceed the limit" + e.limitText() + ": send less in each request"
	case code == "unsupported-file-type":
		return "send PDF, DOCX, PNG, JPEG, Markdown, HTML or plain text"
	case code == "too-many-pdf-pages", code == "too-many-files":
		return "split the content into several conversations"
	case code == "web-resource-download-error":
		return "check that the page is not empty and needs no sign-in"
	case strings.HasPrefix(code, "invalid-jwt"):
		return "check the environment ID, the access key and the clock; a token endpoint must create tokens for this environment"
	}
	return ""
}

func (e *Error) limitText() string {
	if limit, ok := e.Limit(); ok {
		return fmt.Sprintf(" of %.0f bytes", limit)
	}
	return ""
}

func (e *Error) hintOfStatus() string {
	missing := e.MissingPermissions()
	switch {
	case len(missing) > 0:
		return "the token needs " + strings.Join(missing, ", ") + ": add this to auth.ai.permissions when you create it"
	case e.Status == http.StatusForbidden:
		return "the token does not allow this request: check its scopes in auth.ai.permissions"
	case e.Status == http.StatusUnauthorized:
		return "check the environment ID, the access key and the clock"
	case e.Status == http.StatusConflict && strings.Contains(e.Message+e.Code, "use"):
		return "the conversation is still receiving a reply: start a new conversation"
	case e.Status == http.StatusTooManyRequests:
		return "the rate limits of this minute are used up, possibly by other clients: try again later with fewer requests at once"
	case e.Status >= 300 && e.Status < 400:
		return "check the URL of the service: " + e.where + " responds with a redirect"
	}
	return e.Action
}
