package enrich

import (
	"strings"
	"testing"
)

func TestFindings(t *testing.T) {
	for _, tt := range []struct{ description, name, wanted, want string }{
		{"", "a", "en", "none"},
		{" \u00a0\n", "a", "en", "none"},
		{"IMG_1234", "x", "en", "junk"},
		{"DSC00042.JPG", "x", "en", "junk"},
		{"dsc_0042", "x", "", "junk"},
		{"PXL_20260101_101112", "x", "", "junk"},
		{"Screenshot 2026-01-02 at 10.11.12", "x", "", "junk"},
		{"20260102_101112", "x", "", "junk"},
		{"12345", "x", "", "junk"},
		{"---", "x", "", "junk"},
		{"untitled", "x", "", "junk"},
		{"Image of", "x", "", "junk"},
		{"picture", "x", "", "junk"},
		{"Ohne Titel", "x", "", "junk"},
		{"An image", "x", "", "junk"},
		{"https://example.com/a.jpg", "x", "", "junk"},
		{"www.example.com", "x", "", "junk"},
		{"images/red-car.jpg", "x", "", "junk"},
		{"red-car.jpg", "other", "", "junk"},
		{"Red car", "red-car", "", "junk"},
		{"red_car.jpg", "red-car", "", "junk"},
		{"red car red car", "red-car", "", "junk"},
		{"Photo of red car", "red-car", "", "junk"},
		{"Zu\u0308rich", "Z\u00fcrich", "", "junk"}, // one name in two forms
		{"A red car on a bridge", "red-car", "en", ""},
		{"Image of a dog that sleeps", "x", "en", ""},
		{"Photo of our founder Anna", "anna", "en", ""},
		{"Anna", "IMG_1", "en", ""},
		{"Either/or: a sign at a crossroads", "x", "en", ""},
		{"No entry sign", "x", "", ""},
		{"Test tube with a blue liquid", "x", "", ""},
		{strings.Repeat("é", MaxAlt), "x", "", ""},
		{strings.Repeat("é", MaxAlt+1), "x", "", "long"},
		{"Ein Hund mit einem Ball", "x", "en", "language"},
		{"Ein Hund mit einem Ball", "x", "de-AT", ""},
		{"Ein Hund mit einem Ball", "x", "", ""},
		{"Ein Hund mit einem Ball" + strings.Repeat(" und noch einem Ball", 10), "x", "en", "long,language"},
	} {
		if got := joined(findings(tt.description, tt.name, "jpg", tt.wanted)); got != tt.want {
			t.Errorf("%q as description of %q where %q is wanted: got %q, want %q", tt.description, tt.name, tt.wanted, got, tt.want)
		}
	}
}

func TestSpeech(t *testing.T) {
	for _, tt := range []struct {
		text, language, wanted string
		foreign                bool
	}{
		{"A dog on the beach", "en", "en", false},
		{"A dog on the beach", "en", "de", true},
		{"Ein Hund am Strand vor dem Meer", "de", "en", true},
		{"Un chien sur la plage avec une balle", "fr", "en", true},
		{"Un perro en la playa con una pelota", "es", "fr", true},
		{"Um cão na praia com uma bola", "pt", "pt-BR", false},
		{"Un cane sulla spiaggia con una palla e il mare", "it", "en", true},
		{"Een hond op het strand met een bal", "nl", "en", true},
		{"Собака на пляже и в море", "ru", "ru", false},
		{"Собака", "", "en", true}, // the letters say enough
		{"Собака", "", "sr", false},
		{"浜辺の犬", "ja", "ja", false},
		{"浜辺の犬", "ja", "zh", true},
		{"海滩上的狗", "zh", "zh-Hant", false},
		{"해변의 개", "ko", "en", true},
		{"Σκύλος στην παραλία", "el", "el", false},
		{"En hund og en ball på stranden ved sjøen med en båt", "", "sv", false}, // similar languages
		{"Hund", "", "en", false},                                                // the language is ambiguous
		{"Golden Gate Bridge", "", "de", false},
		{"Berlin", "", "fr", false},
		{"12 € & co.", "", "de", false},
	} {
		if tt.language != "" || tt.wanted == "en" && !tt.foreign {
			if got := writingOf(tt.text).language; got != tt.language {
				t.Errorf("%q is taken for %q, want %q", tt.text, got, tt.language)
			}
		}
		if got := isForeign(tt.text, tt.wanted); got != tt.foreign {
			t.Errorf("%q where %s is wanted: foreign %v, want %v", tt.text, tt.wanted, got, tt.foreign)
		}
	}
}

func TestCheckLanguage(t *testing.T) {
	for text, fine := range map[string]bool{"": true, "en": true, "pt-BR": true, "zh-Hant": true, "x": false, "sandbox": false, "de_": false} {
		if err := CheckLanguage(text); (err == nil) != fine {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// TestShortDescriptions verifies that a short description of a person is not taken for the file
// name of a camera because it has the same letters.
func TestShortDescriptions(t *testing.T) {
	for _, text := range []string{"Map", "Sam", "Scandinavia", "Camp", "Stamp 3", "A cup", "Lamp", "Chip 2", "Mosam", "Sunset", "Logo of the club", "Ship", "Chimp at 3", "Black/white", "浜辺の犬", "C'est la vie"} {
		if got := joined(findings(text, "IMG_1", "jpg", "")); got != "" {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
