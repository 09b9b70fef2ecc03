package anchor

import "testing"

func TestElements(t *testing.T) {
	for text, want := range map[string]string{
		"One & two\nlines\n\n  Another\n":      "<p data-id=\"1\">One &amp; two\nlines</p>\n<p data-id=\"2\">Another</p>\n",
		"<h1>A</h1><p>B<p>C":                   "<h1 data-id=\"1\">A</h1>\n<p data-id=\"2\">B</p>\n<p data-id=\"3\">C</p>\n",
		`<p>A</p><p data-id="1">B</p><p>C</p>`: "<p data-id=\"2\">A</p>\n<p data-id=\"1\">B</p>\n<p data-id=\"3\">C</p>\n",
		`A <div><p data-id="x">B</p></div>`:    "<p data-id=\"1\">A </p>\n<div data-id=\"2\"><p data-id=\"x\">B</p></div>\n",
		"<html><head><title>T</title><style>s</style></head><body><script>x</script><p>A</p><hr></body></html>": "<p data-id=\"1\">A</p>\n",
		"Write to <anna@example.org>, see <https://example.org>.":                                               "<p data-id=\"1\">Write to &lt;anna@example.org&gt;, see &lt;https://example.org&gt;.</p>\n",
		"One<br/>two":     "<p data-id=\"1\">One</p>\n<p data-id=\"2\">two</p>\n",
		"3 < 4 and 5 > 2": "<p data-id=\"1\">3 &lt; 4 and 5 &gt; 2</p>\n",
	} {
		if got, err := Elements(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	if got, err := Elements("<script>x</script><img>"); err == nil {
		t.Errorf("nothing to review: got %q", got)
	}
}
