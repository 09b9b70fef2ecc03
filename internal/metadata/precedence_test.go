package metadata

import (
	"slices"
	"testing"
)

func TestParsePrecedence(t *testing.T) {
	for _, texts := range [][]string{{"exif, table"}, {"exif", "table"}, {"exif,table,sidecar,storage,xmp,iptc"}} {
		got, err := ParsePrecedence(texts)
		want := []Source{FromEXIF, FromTable, FromSidecar, FromStorage, FromXMP, FromIPTC}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", texts, got, err)
		}
	}
	for text, want := range map[string]string{
		"exif,tables": `unknown metadata source "tables": use table, sidecar, storage, xmp, iptc, exif`,
		"exif,exif":   `duplicate metadata source "exif"`,
		"":            `unknown metadata source "": use table, sidecar, storage, xmp, iptc, exif`,
	} {
		if _, err := ParsePrecedence([]string{text}); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
