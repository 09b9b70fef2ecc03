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
	const old, replaced = "<p>1 &#150; 2 &#128;&#129; &#142; &#8211;</p>", "<p>1 &#8211; 2 &#8364; &#381; &#8211;</p>" // as WordPress saves it
	if got := Comparable(old); got != replaced || Comparable(replaced) != replaced {
		t.Errorf("invalid entities become %s", got)
	}
	if text := `<a rel="x" href='/a'>`; Comparable(text) != text {
		t.Error("a link without a target differs")
	}
}
