package engine

import (
	"errors"
	"testing"

	"assetferry/migrate"
)

// A plan that is gone on with decides again, and by the same as the first time: what is to
// be private must not go where objects go of which nothing was found.
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
