package engine

import (
	"errors"
	"testing"

	"assetferry/migrate"
)

// TestPlansThatGoOnLookAheadAgain verifies that a resumed plan decides again with the same
// metadata: a private object must not go to the category of objects without metadata.
func TestPlansThatGoOnLookAheadAgain(t *testing.T) {
	w := newWorld(t)
	vault := w.category("Vault", "jpg")
	w.put("a.jpg", "a", "a.jpg.json", `{"secret": "yes"}`, "b.jpg", "b")
	d := w.by(`- {when: 'has("secret")', category: Vault}`)
	w.before(nth(0, failing(errBroken)), "finish plan")
	if _, err := w.tryWith(t.Context(), d, migrate.DefaultRules()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	w.syncWith(d, migrate.DefaultRules())
	if a := w.assetOf("a.jpg"); a.CategoryID != vault {
		t.Errorf("a.jpg is in %s, want %s", a.CategoryID, vault)
	}
}
