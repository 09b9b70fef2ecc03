package answer

import (
	"bytes"
	"slices"
	"strings"
)

// flag is what makes a text or a picture be refused, with a category after it, such as
// "sandbox-flag:violence". In names of files, where no colon may be, it is a hyphen.
const flag = "sandbox-flag"

// categories are those of moderation, by the documentation of the service.
func categories() []string {
	return []string{"sexual", "harassment", "hate", "illicit", "selfHarm", "violence"}
}

// Moderate gives the categories for which a text is flagged, which are those that it
// names as [ModerateImage] says. No text is judged.
func Moderate(text string) []string { return flagged([]byte(text)) }

// ModerateImage gives the categories for which a picture is flagged: those that its name
// or any comment in it names, such as "sandbox-flag:violence". No picture is judged.
func ModerateImage(name string, data []byte) []string {
	found := append(flagged([]byte(name)), flagged(data)...)
	var inOrder []string
	for _, c := range categories() {
		if slices.Contains(found, c) {
			inOrder = append(inOrder, c)
		}
	}
	return inOrder
}

func flagged(text []byte) []string {
	if !bytes.Contains(text, []byte(flag)) {
		return nil
	}
	var found []string
	for _, c := range categories() {
		for _, between := range []string{":", "-"} {
			if bytes.Contains(text, []byte(strings.Join([]string{flag, c}, between))) {
				found = append(found, c)
				break
			}
		}
	}
	return found
}
