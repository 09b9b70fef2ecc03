package blocks

import "testing"

func TestComparable(t *testing.T) {
	const saved = `<p>x</p><a href="/a?b=1&amp;c" target="_blank" rel="noopener">x</a>`
	for text, want := range map[string]bool{
		saved: true,
		`<p>x</p><a target='_blank' href="/a?b=1&amp;c">x</a>`:                true,
		`<p>x</p><a href="/a?b=1&amp;c" target="_blank" rel="nofollow">x</a>`: true,
		`<p>x</p><a href="/b" target="_blank" rel="noopener">x</a>`:           false,
		`<p>x</p> <a href="/a?b=1&amp;c" target="_blank">x</a>`:               false,
	} {
		if got := Comparable(text) == Comparable(saved); got != want {
			t.Errorf("%s: equal %v, want %v", text, got, want)
		}
	}
	if text := `<a rel="x" href='/a'>`; Comparable(text) != text {
		t.Error("a link without a target differs")
	}
}
