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
		return "check the user ID, which is the sub claim of its tokens; assetferry ai usage lists the users with activity. A service may leave out a user who has used nothing yet: the first run then goes without --max-credits"
	case e.final:
		return "check the URL of the service, and compare its endpoints with assetferry doctor"
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
		return "the credits of the environment are used up: check them with assetferry ai usage, and wait for the next period or extend the plan"
	case e.isModel():
		return "the model is unknown or was removed: list the models with assetferry ai models, and choose one with --ai-model"
	case e.isContext():
		return "the context does not exist; to list the contexts: assetferry ai contexts ls"
	case len(e.FlaggedCategories()) > 0, code == "moderation-flagged":
		return "moderation refuses this content: check it, and write this text yourself"
	case code == "unknown-compatibility-version":
		return "every service supports compatibility version 1: omit --ai-compatibility"
	case code == "environment-not-found":
		return "the AI content service does not know the environment: check the environment ID, and that " + e.where + " is in its region"
	case code == "image-too-large":
		return "the image exceeds the limit" + e.limitText() + ": send a smaller image"
	case strings.HasSuffix(code, "-too-large"), code == "total-file-size-exceeded":
		return "the files are above the limit" + e.limitText() + ": send less per request"
	case code == "unsupported-file-type":
		return "send PDF, DOCX, PNG, JPEG, Markdown, HTML or plain text"
	case code == "too-many-pdf-pages", code == "too-many-files":
		return "spread it over several conversations"
	case code == "web-resource-download-error":
		return "check that the page can be read without signing in, and is not empty"
	case strings.HasPrefix(code, "invalid-jwt"):
		return "check the environment ID, the access key and the clock; a token endpoint has to make tokens for this environment"
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
		return "the token needs " + strings.Join(missing, ", ") + ": have it made with that, in auth.ai.permissions"
	case e.Status == http.StatusForbidden:
		return "the token does not allow that: check its scopes, in auth.ai.permissions"
	case e.Status == http.StatusUnauthorized:
		return "check the environment ID, the access key and the clock"
	case e.Status == http.StatusConflict && strings.Contains(e.Message+e.Code, "use"):
		return "a reply is still on its way there: begin a new conversation"
	case e.Status == http.StatusTooManyRequests:
		return "the limits of a minute are used up, perhaps by others: go on later, with less at once"
	case e.Status >= 300 && e.Status < 400:
		return "check the URL of the service: " + e.where + " responds with a redirect"
	}
	return e.Action
}
