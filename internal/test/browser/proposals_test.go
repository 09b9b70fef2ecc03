//go:build browser

package browser

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/enrich/proposals"
)

// TestProposals decides about proposals in the page, with buttons, with keys and with an edit,
// saves, and verifies the saved file.
func TestProposals(t *testing.T) {
	all := proposed(t)
	rawURL := proposalsPage(t, all)
	b := startBrowser(t)
	for _, width := range widths {
		checkPage(t, b, rawURL, width).checkAlone(rawURL)
	}
	p, folder := b.open(t, rawURL, 1280, "light"), t.TempDir()
	saved := p.downloads(folder)

	p.eval(`document.querySelector("[data-id=p-1] [data-edit]").click()`, nil)
	p.eval(`(() => {
		const form = document.querySelector("[data-id=p-1] form").elements;
		form.description.value = "=A \"red\" boat;\nin Oslo";
		form.tags.value = "boat\n\nharbour; quay\nboat";
	})()`, nil)
	p.picture(filepath.Join(t.ArtifactDir(), "editing.png"))
	p.eval(`document.querySelector("[data-id=p-1] [type=submit]").click()`, nil)
	p.eval(`document.querySelector("[data-id=p-2]").focus()`, nil)
	p.key("r", "KeyR") // then the next one has the focus
	p.key("a", "KeyA")
	p.key("d", "KeyD")
	p.key("a", "KeyA") // of the one after it
	p.key("k", "KeyK")
	p.key("a", "KeyA") // the same key again removes the decision

	p.says("#sum", "2 accepted, 1 rejected, 1 decorative, 8 undecided (not saved)")
	p.picture(filepath.Join(t.ArtifactDir(), "decided.png"))
	p.eval(`document.getElementById("save").click()`, nil)
	decisions, err := proposals.Read(filepath.Join(folder, saved()), find(all))
	text, tags := "=A \"red\" boat;\nin Oslo", []string{"boat", "harbour; quay"}
	want := proposals.Decisions{All: []proposals.Decision{
		{ID: "p-1", Choice: proposals.Accept, Description: &text, Tags: &tags}, {ID: "p-2", Choice: proposals.Reject},
		{ID: "p-3", Choice: proposals.Accept}, {ID: "p-4", Choice: proposals.Decorative},
	}}
	if err != nil || !cmp.Equal(decisions, want) {
		t.Errorf("the saved decisions differ: %v\n%s", err, cmp.Diff(want, decisions))
	}
	p.says("#sum", "2 accepted, 1 rejected, 1 decorative, 8 undecided")
	if _, complains := p.seen(); len(complains) > 0 {
		t.Errorf("the browser complains: %q", complains)
	}
}

// TestProposalsByKind verifies that keys only affect proposals that the filter shows.
func TestProposalsByKind(t *testing.T) {
	p := startBrowser(t).open(t, proposalsPage(t, proposed(t)), 1280, "light")
	show := func(kind string) (shown int) {
		p.eval(fmt.Sprintf(`(() => {
			const show = document.getElementById("show");
			show.value = %q;
			show.dispatchEvent(new Event("change"));
			return [...document.querySelectorAll(".proposal")].filter(card => card.checkVisibility()).length;
		})()`, kind), &shown)
		return shown
	}
	for kind, want := range map[string]int{"": 13, "warned": 1, "open": 12, "accept": 0, "reject": 0} {
		if got := show(kind); got != want {
			t.Errorf("%q: %d are shown, want %d", kind, got, want)
		}
	}
	show("accept")
	p.says("#none-shown", "No proposal matches the filter.")
}

// TestProposalsEditedForNothing verifies that a cancelled edit, or an empty text, is no decision.
func TestProposalsEditedForNothing(t *testing.T) {
	p := startBrowser(t).open(t, proposalsPage(t, proposed(t)), 400, "dark")
	p.eval(`document.querySelector("[data-id=p-1]").focus()`, nil)
	p.key("e", "KeyE")
	p.eval(`document.querySelector("[data-id=p-1] form").elements.description.value = " "`, nil)
	p.eval(`document.querySelector("[data-id=p-1] [type=submit]").click()`, nil)
	var editing bool
	if p.eval(`document.querySelector("[data-id=p-1] form") !== null`, &editing); !editing {
		t.Error("an empty description was accepted")
	}
	p.key("Escape", "Escape")
	if p.eval(`document.querySelector("form") !== null || document.activeElement.dataset.id !== "p-1"`, &editing); editing {
		t.Error("Escape does not cancel, or the focus is lost")
	}
	p.says("#sum", "0 accepted, 0 rejected, 12 undecided")
}

// proposed returns proposals of every kind, enough for a page that scrolls.
func proposed(t *testing.T) []proposals.Row {
	t.Helper()
	thumbnail := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t))
	credits := 2.5
	all := []proposals.Row{
		{ID: "p-1", Name: "IMG_1234.jpg", Category: "Photos", Folder: "2024/harbour", Old: proposals.Text{Description: "A boat in a harbour", Tags: []string{"boat", "IMG"}},
			New: proposals.Text{Description: "A red boat in the harbour of Oslo", Tags: []string{"boat", "harbour", "red"}}, Credits: &credits, Model: "agent-1"},
		{ID: "p-2", Name: strings.Repeat("verylong", 25) + ".png", Category: "Drawings", New: proposals.Text{Description: "Image of " + strings.Repeat("withoutspaces", 15)}, Remark: "The AI service needed two attempts."},
		{ID: "p-3", Name: "<img src=x onerror=alert(1)>.jpg", Category: "الصور", New: proposals.Text{Description: "ميناء الإسكندرية في الربيع", Tags: []string{"<b>ميناء</b>"}}, Language: "ar"},
		{ID: "p-4", Name: "line.svg", Category: "Drawings", Decorative: true},
	}
	for n := len(all) + 1; n <= 12; n++ {
		all = append(all, proposals.Row{ID: fmt.Sprint("p-", n), Name: fmt.Sprintf("picture %d.jpg", n), Category: "Photos", New: proposals.Text{Description: fmt.Sprintf("Picture %d", n)}})
	}
	for i := range all {
		all[i].Asset, all[i].Kind, all[i].State, all[i].Thumbnail, all[i].Calls = fmt.Sprint("a-", i), "describe", "proposed", thumbnail, 1
		all[i].Link = "https://assets.example.com/" + all[i].Asset
	}
	return append(all, proposals.Row{ID: "p-13", Name: "done.jpg", Kind: "describe", State: "applied", New: proposals.Text{Description: "Another look"}})
}

func find(all []proposals.Row) func(id string) (proposals.Row, bool, error) {
	return func(id string) (proposals.Row, bool, error) {
		i := slices.IndexFunc(all, func(r proposals.Row) bool { return r.ID == id })
		if i < 0 {
			return proposals.Row{}, false, nil
		}
		return all[i], true, nil
	}
}

// proposalsPage writes the page and returns its URL.
func proposalsPage(t *testing.T, all []proposals.Row) string {
	t.Helper()
	var page bytes.Buffer
	head := proposals.Head{Run: "20260102-030405", Destination: "sandbox: env-1", MadeAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	each := func(yield func(proposals.Row, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
	if err := proposals.WriteHTML(&page, head, each); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "proposals.html")
	if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}
