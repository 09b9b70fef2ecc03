package library_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/tokens"
)

// hostile returns texts that must be shown as text.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`,
		`{{.Body}}`, `<!--`, `</title></textarea>`, `&lt;b&gt; & &amp;`, `ميناء هلسنكي`, "gnp.exe\u202egpj", strings.Repeat("long", 60),
	}
}

func TestHostileText(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	for _, text := range hostile() {
		ws := id(w.call("POST", "/superadmin/workspaces", object{"name": text}))
		category := id(w.call("POST", "/admin/categories?workspaceId="+ws, object{"name": text, "extensions": []string{"png"}}))
		folder := id(w.call("POST", "/folders?workspaceId="+ws, object{"name": text, "categoryId": category}))
		contentType, body := w.form("picture.png", picture(t, 30, 20), "folderId", folder)
		asset := id(w.send("POST", "/assets?workspaceId="+ws, contentType, body))
		w.call("PATCH", "/assets/"+asset, object{"name": text, "tags": []string{text}, "metadata": object{
			"description": text, "customAttributes": object{text: text},
		}})
		for _, path := range []string{
			"/", base + "/workspaces/" + ws, base + "/workspaces/" + ws + "/search?" + url.Values{"q": {text}, "category": {category}}.Encode(),
			base + "/categories/" + category, base + "/categories/" + category + "/folders", base + "/folders/" + folder, base + "/assets/" + asset,
			base + "/folders/" + folder + "?view=table",
		} {
			root := w.page(path)
			checkStructure(t, path, root)
			if want := strings.Join(strings.Fields(text), " "); !strings.Contains(root.String(), want) {
				t.Errorf("%s does not show %q", path, text)
			}
		}
		page := w.page(base + "/assets/" + asset)
		if got := with(page.all("img"), "src", base+"/assets/"+asset+"/preview")[0].attrs["alt"]; got != text {
			t.Errorf("alt text %q, want %q", got, text)
		}
		if title := page.all("h1")[0].all("bdi"); len(title) != 1 || title[0].raw() != text+".png" {
			t.Errorf("the title is %q, want %q, apart from the text around it", texts(title), text)
		}
	}
	found := w.page("/")
	if n := len(found.all("tbody")[0].all("tr")); n != len(hostile())+1 {
		t.Errorf("%d workspaces are listed", n)
	}
}

// names returns the names of the assets on a page, in order.
func names(root *node) []string { return texts(with(root.all("span"), "class", "name")) }

func TestPaging(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	category := w.category("Documents")
	var want []string
	for i := range 70 {
		want = append(want, fmt.Sprintf("folder %03d", i))
		w.folder(want[i], "categoryId", category)
	}
	for i := range 75 {
		want = append(want, fmt.Sprintf("asset %03d.txt", i))
		w.upload(want[70+i], strings.Repeat("x", 75-i), "categoryId", category)
	}
	path := base + "/categories/" + category
	var got []string
	for page := path; page != ""; {
		root := w.page(page)
		shown := names(root)
		if len(shown) > 60 {
			t.Errorf("%s: %d entries", page, len(shown))
		}
		got = append(got, shown...)
		page = ""
		if next := with(root.all("a"), "rel", "next"); len(next) == 1 {
			page = next[0].attrs["href"]
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages have %q", got)
	}
	last := names(w.page(path + "?page=3"))
	for _, beyond := range []string{"?page=4", "?page=1000000"} {
		if got := names(w.page(path + beyond)); !slices.Equal(got, last) {
			t.Errorf("%s shows %q", beyond, got)
		}
	}
	for _, nonsense := range []string{"?page=0", "?page=-1", "?page=x", "?sort=x", "?page=99999999999999999999"} {
		if got := names(w.page(path + nonsense)); !slices.Equal(got, want[:60]) {
			t.Errorf("%s shows %q", nonsense, got)
		}
	}
}

func TestOrders(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	category := w.category("Documents")
	for _, name := range []string{"b", "a", "c"} {
		w.upload(name+".txt", strings.Repeat("x", int('z'-name[0])), "categoryId", category)
	}
	path := base + "/categories/" + category
	start := w.page(path)
	for _, c := range []struct {
		steps []string // links to follow
		want  string
	}{
		{nil, "a.txt b.txt c.txt"},
		{[]string{"Name ↑, ascending; reverse"}, "c.txt b.txt a.txt"},
		{[]string{"Size"}, "a.txt b.txt c.txt"},
		{[]string{"Size", "Size ↓, descending; reverse"}, "c.txt b.txt a.txt"},
		{[]string{"Size", "Table", "Name"}, "a.txt b.txt c.txt"},
	} {
		root := start
		for _, step := range c.steps {
			root = w.page(root.link(t, step))
		}
		if got := strings.Join(names(root), " "); got != c.want {
			t.Errorf("after %q: %s, want %s", c.steps, got, c.want)
		}
		if table := len(root.all("table")) > 0; table != slices.Contains(c.steps, "Table") {
			t.Errorf("after %q: a table: %v", c.steps, table)
		}
	}
}

func TestSearch(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	images, documents := w.category("Images"), w.category("Documents")
	tagged := id(w.upload("Quay.txt", "x", "categoryId", documents))
	w.call("PATCH", "/assets/"+tagged, object{"tags": []string{"FÄHRE"}})
	w.upload("Fähre am Quay.png", picture(t, 8, 8), "categoryId", images)
	path := base + "/workspaces/" + w.env.ID + "/search?"
	for _, c := range []struct {
		q, category string
		want        []string
	}{
		{"fähre", "", []string{"Fähre am Quay.png", "Quay.txt"}},
		{"  quay png ", "", []string{"Fähre am Quay.png"}},
		{"fähre", documents, []string{"Quay.txt"}},
		{"fähre", "of-another-workspace", []string{}},
		{"nowhere", "", []string{}},
	} {
		root := w.page(path + url.Values{"q": {c.q}, "category": {c.category}, "sort": {"name"}}.Encode())
		if got := names(root); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %q, want %q", c.q, c.category, got, c.want)
		}
		if field := with(root.all("input"), "name", "q")[0]; field.attrs["value"] != strings.TrimSpace(c.q) {
			t.Errorf("the field has %q, want %q", field.attrs["value"], c.q)
		}
	}
	refused := w.page(path + url.Values{"q": {strings.Repeat("word ", 17)}}.Encode())
	if text := refused.all("main")[0].String(); !strings.Contains(text, "more than 16 words") {
		t.Errorf("17 words: %s", text)
	}
}

func TestPrivateFiles(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	category := id(w.call("POST", "/admin/categories", object{"name": "Secret", "extensions": []string{"png"}, "isPrivate": true}))
	asset := id(w.upload("plan.png", picture(t, 40, 30), "categoryId", category))
	for _, path := range []string{"/", base + "/categories/" + category, base + "/assets/" + asset} {
		if len(with(w.page(path).all("span"), "class", "private")) == 0 {
			t.Errorf("%s has no mark", path)
		}
	}
	for _, part := range []string{"/thumbnail", "/preview", "/file"} {
		if a := w.ask(base + "/assets/" + asset + part); a.StatusCode != 200 || a.body == "" {
			t.Errorf("%s: %d", part, a.StatusCode)
		}
	}
	delivered := "/" + w.env.ID + "/assets/" + asset
	if a := w.ask(delivered + "/file"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("the service hands it out: %d", a.StatusCode)
	}
	page := w.page(base + "/assets/" + asset)
	if slices.ContainsFunc(urlsOn(page), func(rawURL string) bool { return strings.HasPrefix(rawURL, delivered) }) {
		t.Error("the page links to what the service refuses")
	}
	if !strings.Contains(page.String(), w.URL+delivered+"/file") {
		t.Error("the page does not show the URL")
	}
}

func TestTrash(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	category := w.category("Images")
	asset := id(w.upload("thrown.png", picture(t, 30, 30), "categoryId", category))
	w.upload("kept.png", picture(t, 30, 30), "categoryId", category)
	if err := w.sandbox.Processed(t.Context()); err != nil { // the page shows the processing until then
		t.Fatal(err)
	}
	w.call("POST", "/assets/trash", []string{asset})
	trash := base + "/workspaces/" + w.env.ID + "/trash"
	if got := names(w.page(trash)); !slices.Equal(got, []string{"thrown.png"}) {
		t.Errorf("the trash has %q", got)
	}
	if got := names(w.page(base + "/categories/" + category)); !slices.Equal(got, []string{"kept.png"}) {
		t.Errorf("the category has %q", got)
	}
	page := w.page(base + "/assets/" + asset)
	if len(with(page.all("p"), "class", "warning")) != 1 || strings.Contains(strings.Join(urlsOn(page), " "), "/"+w.env.ID+"/assets/") {
		t.Error("the page does not say that it is in the trash, or links to what is not handed out")
	}
	for _, part := range []string{"/thumbnail", "/preview", "/file"} {
		if a := w.ask(base + "/assets/" + asset + part); a.StatusCode != 200 {
			t.Errorf("%s: %d", part, a.StatusCode)
		}
	}
	w.call("POST", "/assets/restore", object{"assetsActions": []object{{"assetId": asset}}})
	if got := names(w.page(trash)); len(got) != 0 {
		t.Errorf("after it was restored the trash has %q", got)
	}
}

// facts returns the metadata on the page of an asset.
func facts(root *node) map[string]string {
	all := make(map[string]string)
	list := root.all("dl")[0]
	for i, term := range list.all("dt") {
		all[term.String()] = list.all("dd")[i].String()
	}
	return all
}

func TestAssetPage(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	folder := w.folder("inner", "parentId", w.folder("outer", "categoryId", w.category("Images")))
	asset := id(w.upload("a.b.png", picture(t, 900, 300), "folderId", folder))
	mark := "1.0123456789abcdef0123456789abcdef.0011223344556677." + asset
	w.call("PATCH", "/assets/"+asset, object{"tags": []string{"two words", "x"}, "metadata": object{
		"description": "What is seen", "customAttributes": object{"assetferry": mark, "list": []int{1, 2}},
	}})
	w.replace(asset, "a.b.png", picture(t, 64, 64))
	if err := w.sandbox.Processed(t.Context()); err != nil {
		t.Fatal(err)
	}
	tile := w.page(base + "/folders/" + folder).all("main")[0].all("img")[0]
	if got := tile.attrs["alt"]; got != "What is seen" {
		t.Errorf("the picture in the folder is described as %q", got)
	}
	page := w.page(base + "/assets/" + asset)
	if got := texts(page.all("nav")[1].all("li")); !slices.Equal(got, []string{"Default workspace", "Images", "outer", "inner", "a.b.png"}) {
		t.Errorf("the trail is %q", got)
	}
	got := facts(page)
	for term, want := range map[string]string{
		"Description": "What is seen", "Tags": "two wordsx", "Type": "image/png", "Dimensions": "64 × 64 pixels", "Location": "Images / inner",
		"ID": asset, "Processing": "success", "URL": w.URL + "/" + w.env.ID + "/assets/" + asset + "/file",
	} {
		if got[term] != want {
			t.Errorf("%s: %q, want %q", term, got[term], want)
		}
	}
	if from := got["Provenance"]; !strings.Contains(from, "assetferry") || !strings.Contains(from, "content replaced later") || strings.Contains(from, "Copied") {
		t.Errorf("provenance: %q", from)
	}
	rows := map[string][]string{}
	for _, table := range page.all("table") {
		rows[table.all("caption")[0].String()] = texts(table.all("tbody")[0].all("tr"))
	}
	for _, want := range []string{"assetferry" + mark, "list[1,2]"} {
		if !slices.Contains(rows["Custom attributes of this asset"], want) {
			t.Errorf("attributes %q lack %q", rows["Custom attributes of this asset"], want)
		}
	}
	if n := len(rows["Revisions of this asset, newest first"]); n != 2 {
		t.Errorf("%d revisions", n)
	}
	if n := len(rows["Images that the service generates from this asset"]); n != 2 {
		t.Errorf("sizes are %q", rows)
	}
	var sizes []int
	for _, rawURL := range urlsOn(page) {
		if strings.Contains(rawURL, "revision=") {
			sizes = append(sizes, len(w.ask(rawURL).body))
		}
	}
	if want := []int{len(picture(t, 64, 64)), len(picture(t, 900, 300))}; !slices.Equal(sizes, want) {
		t.Errorf("revisions have %v bytes, want %v", sizes, want)
	}
}

// Uploaded files cannot run scripts with the origin of the page.
func TestUploadsDoNotRun(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	const script = `<script xmlns="http://www.w3.org/1999/xhtml">fetch('/')</script>`
	for name, content := range map[string]string{
		"a.svg": `<svg xmlns="http://www.w3.org/2000/svg">` + script + `</svg>`, "b.html": script, "c.xml": script, "d.htm": script, "e.js": "fetch('/')",
	} {
		asset := id(w.upload(name, content))
		page := w.page(base + "/assets/" + asset)
		if text := page.all("pre"); len(text) != 1 || text[0].raw() != content {
			t.Errorf("%s: its text is not shown: %q", name, texts(text))
		}
		if len(with(page.all("img"), "alt", name)) > 0 || strings.Contains(strings.Join(urlsOn(page), " "), "/"+w.env.ID+"/assets/") {
			t.Errorf("%s: the page shows it or links to where it would run", name)
		}
		if a := w.ask(base + "/assets/" + asset + "/thumbnail"); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: there is a thumbnail: %d", name, a.StatusCode)
		}
		a := w.ask(base + "/assets/" + asset + "/file")
		if a.body != content {
			t.Errorf("%s: the file is %q", name, a.body)
		}
		for header, want := range map[string]string{
			"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff",
		} {
			if got := a.Header.Get(header); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
	}
	film := id(w.upload("film.mp4", "0123456789"))
	if a := w.ask(base+"/assets/"+film+"/file", "Range", "bytes=2-4"); a.StatusCode != http.StatusPartialContent || a.body != "234" || a.Header.Get("Content-Disposition") != "" {
		t.Errorf("a film cannot be played: %d %q", a.StatusCode, a.body)
	}
}

func TestHeadersOfPages(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	a := w.ask("/", "Origin", "https://somewhere.example")
	policy := a.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "style-src 'self'", "img-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
		t.Errorf("the policy is too wide: %q", policy)
	}
	for header, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Access-Control-Allow-Origin": "", "Access-Control-Allow-Credentials": "",
	} {
		if got := a.Header.Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
}

// Responses to programs are the same with and without the page.
func TestProgramsGetWhatTheyGot(t *testing.T) {
	with := newWorld(t, sandbox.Options{})
	s, err := sandbox.New(sandbox.Options{Environments: []tokens.Environment{with.env}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	without := &world{TB: t, Server: newServer(t, s), sandbox: s, env: with.env}
	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0"} {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
			a, b := with.program(method, "/", accept), without.program(method, "/", accept)
			if a != b {
				t.Errorf("%s / with Accept %q: %s, without the page %s", method, accept, a, b)
			}
		}
	}
	if a, b := with.program("POST", "/", "text/html"), without.program("POST", "/", "text/html"); a != b {
		t.Errorf("POST / as a browser: %s, without the page %s", a, b)
	}
	for _, path := range []string{"/", base + "/", base + "/style.css"} {
		if got := without.ask(path).StatusCode; got != http.StatusNotImplemented {
			t.Errorf("switched off, %s answers %d", path, got)
		}
	}
}

// program returns the response to a program, without the parts that always differ.
func (w *world) program(method, path, accept string) string {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.URL+path, http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Origin", "https://somewhere.example")
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	text, _, _ := strings.Cut(string(body), `,"traceId"`)
	resp.Header.Del("Date")
	return fmt.Sprint(resp.StatusCode, slices.Sorted(maps.Keys(resp.Header)), text)
}

func TestFaultsAndStatisticsLeaveThePageAlone(t *testing.T) {
	f, err := fault.Parse("* * status=500")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, sandbox.Options{Faults: []fault.Rule{f}})
	w.page("/")
	if a := w.ask("/docs"); a.StatusCode != http.StatusInternalServerError {
		t.Errorf("the fault does not fire: %d", a.StatusCode)
	}
	if a := w.ask("/_sandbox/stats"); strings.Count(a.body, `"method"`) != 1 {
		t.Errorf("statistics: %s", a.body)
	}
}

// Long texts are cut, and files that only claim to be text are not shown as text.
func TestTextsAreShown(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	for name, c := range map[string]struct {
		content, want string
		whole         bool
	}{
		"short.txt": {"Fähre\n  um sieben", "Fähre\n  um sieben", true},
		"long.txt":  {"x" + strings.Repeat("ä", 3000), "x" + strings.Repeat("ä", 1999), false}, // cut within a character
		"bytes.txt": {"\xff\xfe\x00", "", true},
		"null.csv":  {"a\x00b", "", true},
		"empty.txt": {"", "", true},
	} {
		page := w.page(base + "/assets/" + id(w.upload(name, c.content)))
		got := ""
		for _, text := range page.all("pre") {
			got += text.raw()
		}
		if got != c.want || (len(page.all("figcaption")) == 0) != c.whole {
			t.Errorf("%s: %q is shown, want %q; the rest is told of: %v", name, got, c.want, len(page.all("figcaption")) > 0)
		}
	}
}

func TestFolderTree(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	category := w.category("Files")
	namesake, other := w.folder("twin", "categoryId", category), w.folder("twin", "categoryId", category)
	w.folder("of the first", "parentId", namesake)
	w.folder("of the second", "parentId", other)
	deeper := w.folder("deeper", "parentId", w.folder("a", "parentId", other))
	w.folder("zebra", "categoryId", category)
	w.folder("apple", "categoryId", category)
	many := w.folder("many", "categoryId", category)
	for i := range 57 {
		w.folder(fmt.Sprintf("%02d", i), "parentId", many)
	}
	path := base + "/categories/" + category + "/folders"
	rows := func(page string) (all []string) { return texts(w.page(page).all("tbody")[0].all("th")) }
	first, second := rows(path), rows(path+"?page=2")
	if len(first) != 60 || len(second) != 6 {
		t.Fatalf("%d and %d rows", len(first), len(second))
	}
	if want := []string{"apple", "Level 1: many", "Level 2: 00"}; !slices.Equal(first[:3], want) {
		t.Errorf("the tree begins with %q, want %q", first[:3], want)
	}
	want := []string{
		"twin / of the first", "Level 1: twin", "Level 2: a", "Level 3: deeper", "Level 2: of the second", "Level 1: zebra",
	}
	w.upload("a.zip", "x", "folderId", namesake)
	w.upload("b.zip", "x", "folderId", other)
	w.upload("c.zip", "x", "folderId", deeper)
	counts := texts(w.page(path + "?page=2").all("tbody")[0].all("tr")[1].all("td"))
	if !slices.Equal(counts, []string{"2", "1", "2"}) {
		t.Errorf("the second twin has %q folders, assets, and assets in all", counts)
	}
	if !slices.Equal(second, want) {
		t.Errorf("the tree ends with %q, want %q", second, want)
	}
}
