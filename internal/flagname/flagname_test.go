package flagname

import "testing"

func TestInText(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"rename it at the source":       "rename it at the source",
		"younger than {min_age}":        "younger than --min-age",
		"{include} and {exclude}":       "--include and --exclude",
		"{s3_tags}; run it again":       "--s3-tags; run it again",
		"{on_existing}: adopt":          "--on-existing: adopt",
		"{} {A} { limit } {1} %d {a-b}": "{} {A} { limit } {1} %d {a-b}",
	} {
		if got := InText(text); got != want {
			t.Errorf("InText(%q): got %q, want %q", text, got, want)
		}
	}
}
