package rewrite

import (
	"fmt"
	"strings"
	"testing"
)

// TestNewURLs verifies that newURLs returns URLs of any form as they were added.
func TestNewURLs(t *testing.T) {
	urls := []string{
		"", "/", "x", "/assets/", "/assets/a", asset("a"), asset("a") + "?v=1", asset("b") + "s/300.webp", "https://h/a/b.png", "https://h/assets//x/y",
		"https://h/" + strings.Repeat("long/", urlBlock), "https://h/assets/" + strings.Repeat("x", 2*urlBlock) + "/file", asset("c"), "/å b.png",
	}
	for n := range 2 * maxFrames {
		urls = append(urls, fmt.Sprintf("https://h/%d/a.png", n), fmt.Sprintf("https://h/%d/b.png", n))
	}
	for n := range urlBlock / 10 {
		urls = append(urls, asset(fmt.Sprint(n)))
	}
	u := newNewURLs()
	var places []uint32
	for _, url := range urls {
		place, err := u.add(url)
		must(t, err)
		if n := len(places); n > 0 && place <= places[n-1] {
			t.Fatalf("%.50q: place %d after %d", url, place, places[n-1])
		}
		places = append(places, place)
	}
	for n, place := range places {
		if got, isClean := u.at(place); got != urls[n] || isClean != (clean(got) == got) {
			t.Fatalf("got %.50q (clean: %v), want %.50q", got, isClean, urls[n])
		}
	}
	if len(u.frames) != maxFrames || len(u.blocks) < 3 {
		t.Errorf("%d frames, %d blocks", len(u.frames), len(u.blocks))
	}
}

// TestWordSet verifies that words are found at the beginning of a text only, ignoring case.
func TestWordSet(t *testing.T) {
	set := newWordSet([]string{"files", "file", "img", "h", "HOST.example", "(", "%28"})
	for text, want := range map[string]bool{
		"files/a": true, "FILEs": true, "file": true, "fil": false, "": false, "xfiles": false, "imG/": true, "im": false, "host.EXAMPLE": true,
		"(old)": true, "%28old": true, "%2": false, "\xc3": false, "hi": true,
	} {
		if got := set.begin([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if newWordSet(nil).begin([]byte("x")) {
		t.Error("an empty set has a word")
	}
}
