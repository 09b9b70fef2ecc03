package answer

import (
	"bytes"
	"slices"
	"strings"
)

// flag, followed by a category, makes moderation refuse text or an image, as in
// "sandbox-flag:violence". File names use a hyphen instead of the colon.
const flag = "sandbox-flag"

// categories returns the documented categories of moderation.
func categories() []string {
	return []string{"sexual", "harassment", "hate", "illicit", "selfHarm", "violence"}
}

// Moderate returns the flagged categories of a text, see [ModerateImage]. It does not judge the
// text.
func Moderate(text string) []string { return flagged([]byte(text)) }

// ModerateImage returns the flagged categories of an image: those in its name or in a comment
// in the file, such as "sandbox-flag:violence". It does not judge the image.
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
