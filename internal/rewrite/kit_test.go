package rewrite

import (
	"bytes"
	"io"
	"iter"
	"strings"
	"testing"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// asset returns the new URL of an asset.
func asset(id string) string { return "https://ckbox.cloud/env/assets/" + id + "/file" }

// library returns old URLs with the IDs of their assets.
func library() []Row {
	var rows []Row
	for _, r := range [...]struct{ old, id string }{
		{"https://cdn.example.com/img/a.jpg", "a"},
		{"https://cdn.example.com/img/a.jpg.webp", "a-webp"},
		{"https://cdn.example.com/img/b%20c.jpg", "b-c"},
		{"https://cdn.example.com/img/dir/d(1).jpg", "d-1"},
		{"https://cdn.example.com/img/it's,me;too.jpg", "its"},
		{"https://cdn.example.com/img/%C3%85se.jpg", "ase"},
		{"https://cdn.example.com/img/100%25.pdf", "percent"},
		{"https://cdn.example.com/img/show.php?id=3&w=4", "php"},
		{"http://static.example.com:8080/a.jpg", "port"},
		{"/wp-content/uploads/a.jpg", "wp-a"},
		{"/wp-content/uploads/2024/x-1024x768.jpg", "wp-x"},
		{"/files/e.png", "e"},
		{"/files/my_file.png", "my"},
		{"/files/a, (very) long name [of] a picture, and (more) of it, 2.png", "long"},
	} {
		rows = append(rows, Row{Old: r.old, New: asset(r.id)})
	}
	return rows
}

func each(rows []Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func newRewriter(tb testing.TB, rows []Row) (*Rewriter, *Map) {
	tb.Helper()
	m, err := NewMap(each(rows))
	must(tb, err)
	tb.Cleanup(func() { must(tb, m.Close()) })
	r, err := New(m, m.Old(), m.Assets().Current())
	must(tb, err)
	return r, m
}

// noted is a Sink that records everything.
type noted struct {
	bytes.Buffer
	spots []Spot
}

func (n *noted) Keep(text []byte) error {
	_, err := n.Write(text)
	return err
}

func (n *noted) Spot(s Spot) error {
	s.Old, s.New = bytes.Clone(s.Old), bytes.Clone(s.New)
	s.from, s.to = 0, 0
	n.spots = append(n.spots, s)
	_, err := n.Write(s.New)
	return err
}

func rewritten(tb testing.TB, r *Rewriter, from io.Reader) *noted {
	tb.Helper()
	n := &noted{}
	must(tb, r.Rewrite(from, n))
	return n
}

func TestForms(t *testing.T) {
	r, _ := newRewriter(t, library())
	const a, b = "https://ckbox.cloud/env/assets/a/file", "https://ckbox.cloud/env/assets/b-c/file"
	json := strings.ReplaceAll(a, "/", `\/`)
	encoded := strings.NewReplacer("/", "%2F", ":", "%3A").Replace(a)
	for in, want := range map[string]string{
		// Plain URLs in all kinds of surrounding text.
		`https://cdn.example.com/img/a.jpg`:                           a,
		`HTTPS://CDN.Example.com/img/a.jpg`:                           a,
		`http://cdn.example.com/img/a.jpg`:                            a,
		`//cdn.example.com/img/a.jpg`:                                 a,
		`<img src="//cdn.example.com:443/img/a.jpg">`:                 `<img src="//cdn.example.com:443/img/a.jpg">`,
		`<img src="https://cdn.example.com:443/img/a.jpg">`:           `<img src="` + a + `">`,
		`<img src=https://cdn.example.com/img/a.jpg>`:                 `<img src=` + a + `>`,
		`<img src='https://cdn.example.com/img/b c.jpg'>`:             `<img src='` + b + `'>`,
		`<img src="https://cdn.example.com/img/b%20c.jpg">`:           `<img src="` + b + `">`,
		`<img src="https://cdn.example.com/img/b c.jpg">`:             `<img src="` + b + `">`,
		`see https://cdn.example.com/img/a.jpg.`:                      `see ` + a + `.`,
		`(https://cdn.example.com/img/a.jpg), and`:                    `(` + a + `), and`,
		`[a](https://cdn.example.com/img/a.jpg "A")`:                  `[a](` + a + ` "A")`,
		`![d](https://cdn.example.com/img/dir/d(1).jpg)`:              `![d](` + asset("d-1") + `)`,
		`**https://cdn.example.com/img/a.jpg**`:                       `**` + a + `**`,
		"`https://cdn.example.com/img/a.jpg`":                         "`" + a + "`",
		`url(https://cdn.example.com/img/a.jpg);`:                     `url(` + a + `);`,
		`url('/wp-content/uploads/a.jpg')`:                            `url('` + asset("wp-a") + `')`,
		`"https://cdn.example.com/img/it's,me;too.jpg"`:               `"` + asset("its") + `"`,
		`https://cdn.example.com/img/Åse.jpg`:                         asset("ase"),
		"https://cdn.example.com/img/A\u030ase.jpg":                   asset("ase"),
		`“https://cdn.example.com/img/Åse.jpg”`:                       `“` + asset("ase") + `”`,
		`https://cdn.example.com/img/100%25.pdf#page=3`:               asset("percent") + `#page=3`,
		`https://cdn.example.com/img/a.jpg?ver=3`:                     a,
		`"https://cdn.example.com/img/a.jpg?ver=3&amp;x=1#top"`:       `"` + a + `#top"`,
		`"https://cdn.example.com/img/show.php?id=3&amp;w=4"`:         `"` + asset("php") + `"`,
		`//static.example.com:8080/a.jpg http://static.example.com/a`: asset("port") + ` http://static.example.com/a`,
		`{"url":"/files/e.png"}`:                                      `{"url":"` + asset("e") + `"}`,
		`src=/files/e.png?`:                                           `src=` + asset("e") + `?`,

		`(https://cdn.example.com/img/a.jpg?ver=3)`:                                                             `(` + a + `)`,
		`"https://cdn.example.com/img/a.jpg?resize=300,200 300w, https://cdn.example.com/img/a.jpg?w=6&h=3 2x"`: `"` + a + ` 300w, ` + a + ` 2x"`,
		`url(/files/e.png?a[]=1&b[x]=2);`:                                                                       `url(` + asset("e") + `);`,
		`https://cdn.example.com/img/a.jpg?v=1, and`:                                                            a + `, and`,
		`**https://cdn.example.com/img/a.jpg?v=1**`:                                                             `**` + a + `**`,
		`https://cdn.example.com/img/a.jpg?v=1.`:                                                                a + `.`,
		`https://cdn.example.com/img/a.jpg?v=1,https://cdn.example.com/img/a.jpg?v=2 2x`:                        a + `,` + a + ` 2x`,

		// Other texts stay unchanged.
		`https://other.example.com/files/e.png`:                     ``,
		`https://web.archive.org/https://cdn.example.com/img/a.jpg`: ``,
		`../files/e.png x/files/e.png {{base}}/files/e.png`:         ``,
		`https://cdn.example.com/image/a.jpg`:                       ``,
		`https://cdn.example.com.au/img/a.jpg`:                      ``,
		`ftp://cdn.example.com/img/a.jpg`:                           ``,
		`cdn.example.com/img/a.jpg`:                                 ``,
		`https://user@cdn.example.com/img/a.jpg`:                    ``,

		// Characters that CSS and Markdown escape, and URLs that may contain blanks.
		`url(https://cdn.example.com/img/dir/d\(1\).jpg)`:                                `url(` + asset("d-1") + `)`,
		`url(https\:\/\/cdn.example.com\/img\/a.jpg)`:                                    `url(` + json + `)`,
		`url(https://cdn.example.com/img/b\ c.jpg)`:                                      `url(` + b + `)`,
		`![x](/files/my\_file.png) [r]: /files/my\_file.png "T"`:                         `![x](` + asset("my") + `) [r]: ` + asset("my") + ` "T"`,
		`{"md":"[x](/files/my\\_file.png)"}`:                                             `{"md":"[x](` + asset("my") + `)"}`,
		`\*https://cdn.example.com/img/a.jpg\*`:                                          `\*` + a + `\*`,
		`[x](<https://cdn.example.com/img/b c.jpg> "T")`:                                 `[x](<` + b + `> "T")`,
		`[r]: </files/e.png>`:                                                            `[r]: <` + asset("e") + `>`,
		`&lt;https://cdn.example.com/img/b c.jpg&gt;`:                                    `&lt;` + b + `&gt;`,
		`"/files/a, (very) long name [of] a picture, and (more) of it, 2.png"`:           `"` + asset("long") + `"`,
		`"/files/a,%20(very)%20long name [of] a picture, and (more) of it, 2.png 2x, /"`: `"` + asset("long") + ` 2x, /"`,
		`RewriteRule ^/files/e\.png$ "/files/e\.png"`:                                    ``,

		// srcset attributes.
		`srcset="https://cdn.example.com/img/a.jpg 1x, https://cdn.example.com/img/b%20c.jpg 2x"`: `srcset="` + a + ` 1x, ` + b + ` 2x"`,
		`srcset="https://cdn.example.com/img/a.jpg,https://cdn.example.com/img/b%20c.jpg 2x"`:     `srcset="` + a + `,` + b + ` 2x"`,

		// Windows line endings, and bytes of other encodings.
		"https://cdn.example.com/img/a.jpg\r\n/files/e.png\r\n":       a + "\r\n" + asset("e") + "\r\n",
		"caf\xe9 https://cdn.example.com/img/a.jpg\x00\xff":           "caf\xe9 " + a + "\x00\xff",
		"https://cdn.example.com/img/a.jpg\xe9 /files/e.png \xc3\x28": "https://cdn.example.com/img/a.jpg\xe9 " + asset("e") + " \xc3\x28",

		// Backslashes.
		`"https:\/\/cdn.example.com\/img\/a.jpg"`:                       `"` + json + `"`,
		`\"https:\\\/\\\/cdn.example.com\\\/img\\\/a.jpg\"`:             `\"` + strings.ReplaceAll(a, "/", `\\\/`) + `\"`,
		`\"https:\\/\\/cdn.example.com\\/img\\/a.jpg\"`:                 `\"` + strings.ReplaceAll(a, "/", `\\/`) + `\"`,
		`"\u003Cimg src=\u0022https://cdn.example.com/img/a.jpg\u0022`:  `"\u003Cimg src=\u0022` + a + `\u0022`,
		`"https://cdn.example.com/img/\u00c5se.jpg\n"`:                  `"` + asset("ase") + `\n"`,
		`"\nhttps://cdn.example.com/img/a.jpg\nx"`:                      `"\n` + a + `\nx"`,
		`"\n\/files\/e.png"`:                                            `"\n` + strings.ReplaceAll(asset("e"), "/", `\/`) + `"`,
		`"https\u003a\u002F\u002Fcdn.example.com\u002Fimg\u002Fa.jpg"`:  `"` + strings.ReplaceAll(a, "/", `\u002F`) + `"`,
		`"https://cdn.example.com/img/show.php?id=3\u0026w=4"`:          `"` + asset("php") + `"`,
		`"https:\u002F\u002Fcdn.example.com\u002Fimg\u002Fa.jpg"`:       `"` + strings.ReplaceAll(a, "/", `\u002F`) + `"`,
		`'https://cdn.example.com/img/a.jpg','next','x'`:                `'` + a + `','next','x'`,
		`('<img src=\"https://cdn.example.com/img/a.jpg\" alt=\'x\'>')`: `('<img src=\"` + a + `\" alt=\'x\'>')`,
		`'https://cdn.example.com/img/it\'s,me;too.jpg'`:                `'` + asset("its") + `'`,

		// Character references.
		`&quot;https://cdn.example.com/img/a.jpg&quot;`:         `&quot;` + a + `&quot;`,
		`&lt;img src=&#34;/files/e.png&#34;&gt;`:                `&lt;img src=&#34;` + asset("e") + `&#34;&gt;`,
		`https:&#x2F;&#x2F;cdn.example.com&#x2F;img&#x2F;a.jpg`: strings.ReplaceAll(a, "/", "&#x2F;"),
		`https&#58;&#47;&#47;cdn.example.com&#47;img&#47;a.jpg`: strings.ReplaceAll(a, "/", "&#47;"),

		// Percent-encoded.
		`?u=https%3A%2F%2Fcdn.example.com%2Fimg%2Fa.jpg&x=1`:              `?u=` + encoded + `&x=1`,
		`?u=https%3a%2f%2fcdn.example.com%2fimg%2fb%2520c.jpg`:            `?u=` + strings.ToLower(strings.NewReplacer("/", "%2F", ":", "%3A").Replace(b)),
		`?text=https%3A%2F%2Fcdn.example.com%2Fimg%2Fa.jpg+is+it&x=1`:     `?text=` + encoded + `+is+it&x=1`,
		`%22https%3A%2F%2Fcdn.example.com%2Fimg%2Fa.jpg%22%3E`:            `%22` + encoded + `%22%3E`,
		`%2522https%253A%252F%252Fcdn.example.com%252Fimg%252Fa.jpg%2522`: `%2522` + strings.ReplaceAll(encoded, "%", "%25") + `%2522`,
		`%3D%2Ffiles%2Fe.png`: `%3D` + strings.NewReplacer("/", "%2F", ":", "%3A").Replace(asset("e")),

		// Serialized by PHP.
		`s:33:"https://cdn.example.com/img/a.jpg";`:                     `s:37:"` + a + `";`,
		`s:33:\"https://cdn.example.com/img/a.jpg\";`:                   `s:37:\"` + a + `\";`,
		`s:38:\"https:\\/\\/cdn.example.com\\/img\\/a.jpg\";`:           "",
		`s:37:\"https:\\/\\/cdn.example.com\\/img\\/a.jpg\";`:           `s:43:\"` + strings.ReplaceAll(a, "/", `\\/`) + `\";`,
		`s:41:"s:33:"https://cdn.example.com/img/a.jpg";";`:             `s:45:"s:37:"` + a + `";";`,
		`s:41:\"s:33:\"https://cdn.example.com/img/a.jpg\";\";`:         `s:45:\"s:37:\"` + a + `\";\";`,
		`s:35:\"<https://cdn.example.com/img/a.jpg\n\";`:                `s:39:\"<` + a + `\n\";`,
		`s:35:"<https://cdn.example.com/img/a.jpg\n";`:                  `s:39:"<` + a + `\n";`,
		`s:35:\"\u00e9https://cdn.example.com/img/a.jpg\";`:             `s:39:\"\u00e9` + a + `\";`,
		`s:33:&quot;https://cdn.example.com/img/a.jpg&quot;;`:           `s:37:&quot;` + a + `&quot;;`,
		`s%3A33%3A%22https%3A%2F%2Fcdn.example.com%2Fimg%2Fa.jpg%22%3B`: `s%3A37%3A%22` + encoded + `%22%3B`,
		`C:3:"Map":41:{s:33:"https://cdn.example.com/img/a.jpg";}`:      `C:3:"Map":45:{s:37:"` + a + `";}`,
		`S:35:"\e9 https://cdn.example.com/img/a.jpg";`:                 `S:39:"\e9 ` + a + `";`,
		`S:35:\"\\e9 https://cdn.example.com/img/a.jpg\";`:              `S:39:\"\\e9 ` + a + `\";`,
		`s:37:"\e9 https://cdn.example.com/img/a.jpg";`:                 `s:41:"\e9 ` + a + `";`,
		`s:34:"https://cdn.example.com/img/a.jpg";`:                     ``,
	} {
		if want == "" {
			want = in
		}
		if got := rewritten(t, r, strings.NewReader(in)); got.String() != want {
			t.Errorf("%s\n got %s\nwant %s\n %+v", in, got, want, got.spots)
		}
		if again := rewritten(t, r, strings.NewReader(want)); again.String() != want {
			t.Errorf("again: %s\n got %s", want, again)
		}
	}
}
