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

// longer reports whether a text is longer than a limit, where there is one.
func longer(text string, limit, otherwise int) (int, bool) {
	limit = cmp.Or(limit, otherwise)
	return limit, limit >= 0 && utf8.RuneCountInString(text) > limit
}

// conflict refuses a name that is taken.
func conflict(what, name string) *problem.Problem {
	return problem.Refuse(http.StatusConflict, "There is a %s %q already.", what, name)
}
