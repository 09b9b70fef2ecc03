package profile

import (
	"cmp"
	"net/http"
	"unicode/utf8"

	"assetferry/internal/sandbox/problem"
)

func NotAllowed(extension string) *problem.Problem {
	return problem.Refuse(http.StatusBadRequest, "The extension %q is not allowed in the category.", extension)
}

// longer reports whether a text is longer than a limit.
func longer(text string, limit, otherwise int) (int, bool) {
	limit = cmp.Or(limit, otherwise)
	return limit, limit >= 0 && utf8.RuneCountInString(text) > limit
}

// conflict returns the error for a name in use.
func conflict(what, name string) *problem.Problem {
	return problem.Refuse(http.StatusConflict, "The name of the %s %q is in use.", what, name)
}
