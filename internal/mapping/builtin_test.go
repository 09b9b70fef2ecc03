package mapping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata"
)

// TestTemplates verifies the result of each template for a row from the documentation of the other
// program.
func TestTemplates(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		object  Object
		said    metadata.Metadata
		place   Place
		columns string // those by which a row is found
	}{
		"export": {
			Object{Key: "Pictures/2019/quay (x1).jpg", Found: metadata.Found{metadata.FromSidecar: fields(
				"category", "Pictures", "folder", "2019", "name", "quay", "private", "true", "description", "A quay", "tags", "sea", "Rights", "Ida")}},
			metadata.Metadata{Description: "A quay", Tags: []string{"sea"}, Attributes: map[string]string{"Rights": "Ida"}},
			Place{Category: "Pictures", Folder: "2019", Name: "quay.jpg", Private: &yes}, "",
		},
		"aem": {
			Object{Key: "content/dam/site/quay.jpg", Found: metadata.Found{metadata.FromTable: fields(
				"assetPath", "/content/dam/site/quay.jpg", "dc:title {{String}}", "Quay", "dc:description{{String}}", "A quay",
				"dc:subject{{String: multi}}", "sea|port", "cq:tags {{String : MULTI}}", "site:news", "dam:size{{Long}}", "12", "campaign{{String}}", "Spring")}},
			metadata.Metadata{Description: "A quay", Tags: []string{"port", "sea", "site:news"}, Attributes: map[string]string{"title": "Quay", "campaign": "Spring"}},
			Place{Folder: "site", Name: "quay.jpg"}, "assetPath=key",
		},
		"canto": {
			Object{Key: "quay.jpg", Found: metadata.Found{metadata.FromTable: fields(
				"File Name", "quay.jpg", "Description", "A quay", "Keywords", "sea;port", "Tags", "port; old", "Author", "Ida Berg", "Copyright", "Berg",
				"Terms & Conditions", "press only", "Status", "Approved", "Content ID", "77")}},
			metadata.Metadata{Description: "A quay", Tags: []string{"old", "port", "sea"}, Attributes: map[string]string{
				"creator": "Ida Berg", "copyright": "Berg", "Terms & Conditions": "press only"}},
			Place{Name: "quay.jpg"}, "File Name=key",
		},
		"cloudinary": {
			Object{Key: "xk2/quay_ab12cd.jpg", Found: metadata.Found{metadata.FromStorage: fields(
				"public_id", "quay_ab12cd", "secure_url", "https://res.example.com/quay.jpg", "url", "http://res.example.com/quay.jpg", "asset_folder", "site/harbour",
				"display_name", "Quay", "bytes", "12", "width", "100", "tags", "sea", "tags", "port", "context.custom.alt", "A quay", "context.custom.caption", "At dawn",
				"type", "authenticated", "created_at", "2023-01-02T03:04:05Z", "metadata.campaign", "Spring")}},
			metadata.Metadata{Description: "A quay", Tags: []string{"port", "sea"}, Attributes: map[string]string{
				"caption": "At dawn", "uploaded": "2023-01-02T03:04:05Z", "metadata.campaign": "Spring"}},
			Place{Folder: "site/harbour", Name: "Quay.jpg", Private: &yes}, "bytes=size secure_url=old_url url=old_url",
		},
		"wordpress": {
			Object{Key: "2024/05/quay.jpg", Found: metadata.Found{metadata.FromStorage: fields(
				"id", "9", "source_url", "https://example.com/wp-content/uploads/2024/05/quay.jpg", "mime_type", "image/jpeg", "alt_text", "A quay", "title.raw", "Quay", "title.rendered", "Quay",
				"caption.raw", "At dawn", "caption.rendered", "<p>At dawn</p>", "description.raw", "", "media_details.width", "100", "media_details.filesize", "12",
				"media_details.image_meta.credit", "Ida", "author", "1", "date", "2024-05-06T07:08:09", "_links.self.href", "x")},
			},
			metadata.Metadata{Description: "A quay", Attributes: map[string]string{
				"title": "Quay", "caption": "At dawn", "credit": "Ida", "uploaded": "2024-05-06T07:08:09"}},
			Place{Folder: "2024/05", Name: "quay.jpg"}, "media_details.filesize=size mime_type=content_type source_url=old_url",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustMap(t, "rules: [{use: "+name+"}]", Options{})
			said, notes, err := m.Describe(c.object)
			if d := cmp.Diff(c.said, said); d != "" || err != nil || len(notes) > 0 {
				t.Error(err, notes, d)
			}
			base, ext := nameOf(c.object.Key)
			place, notes, err := m.Place(c.object, Place{Folder: folderOf(c.object.Key), Name: base + "." + ext})
			if d := cmp.Diff(c.place, place); d != "" || err != nil || len(notes) > 0 {
				t.Error(err, notes, d)
			}
			unmapped, err := m.Unmapped(c.object)
			if err != nil || len(unmapped) > 0 {
				t.Errorf("unmapped: %v, %v", unmapped, err)
			}
			if got := rowColumns(m); got != c.columns {
				t.Errorf("rows are found by %q, want %q", got, c.columns)
			}
		})
	}
}

// rowColumns returns the columns that identify the object of a row.
func rowColumns(m *Mapping) string {
	var all []string
	for _, name := range sortedKeys(m.columns.words) {
		if word := m.Word(name); findsRows(word) || word == wordOldURL {
			all = append(all, fmt.Sprintf("%s=%s", name, word))
		}
	}
	return strings.Join(all, " ")
}

// TestTemplatesAreRight verifies that every template is valid, has a description, and is tested.
func TestTemplatesAreRight(t *testing.T) {
	names := TemplateNames()
	if len(names) < 4 {
		t.Fatal(names)
	}
	for _, name := range names {
		one, err := readBuiltIn(name)
		if err != nil {
			t.Fatal(err)
		}
		if one.about == "" || len(one.about) > 100 {
			t.Errorf("%s is about %q", name, one.about)
		}
		data, err := templateFiles.ReadFile("templates/" + name + ".yaml")
		if err != nil || name != "export" && !strings.Contains(string(data), "# https://") {
			t.Errorf("%s does not say where its columns are documented, %v", name, err)
		}
	}
}

// TestWordPressKeepsAltTexts verifies that an image with a description and an alt text keeps both.
func TestWordPressKeepsAltTexts(t *testing.T) {
	o := Object{Key: "2024/05/quay.jpg", Found: metadata.Found{metadata.FromStorage: fields("description", "A quay at dawn", "alt", "A quay", "author", "Jo")}}
	m := mustMap(t, "rules: [{use: wordpress}]", Options{})
	said, notes, err := m.Describe(o)
	want := metadata.Metadata{Description: "A quay at dawn", Attributes: map[string]string{"alt": "A quay", "author": "Jo"}}
	if d := cmp.Diff(want, said); d != "" || err != nil || len(notes) > 0 {
		t.Error(err, notes, d)
	}
}
