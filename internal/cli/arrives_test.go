package cli

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/cli/exit"
	"assetferry/internal/metadata"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"

	"github.com/google/go-cmp/cmp"
)

// An arrival is the content and the metadata of an asset, without the fields that differ between
// environments.
type arrival struct {
	Description string
	Tags        []string // sorted
	Attributes  map[string]string
	Private     bool
	Checksum    string
}

// arrivals maps CATEGORY/FOLDER/NAME to assets.
type arrivals map[string]arrival

// arrivedAt reads all assets of a service through the API.
func arrivedAt(t *testing.T, s *service) arrivals {
	t.Helper()
	minter, err := token.NewMinter(token.NewSecret(string(s.env.AccessKey)), token.Claims{Environment: s.env.ID})
	if err != nil {
		t.Fatal(err)
	}
	c, err := assets.New(assets.Options{BaseURL: s.url, Tokens: minter})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	r := arrivalsReader{t, c, arrivals{}}
	for category, err := range c.Categories(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r.container(category, category.Name, assets.ListOptions{CategoryID: category.ID})
	}
	folders, err := c.Folders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		category, err := c.Category(t.Context(), f.CategoryID)
		if err != nil {
			t.Fatal(err)
		}
		deep, err := c.Folder(t.Context(), f.ID, 100)
		if err != nil {
			t.Fatal(err)
		}
		r.folder(category, category.Name, deep)
	}
	s.drain()
	return r.all
}

type arrivalsReader struct {
	*testing.T
	client *assets.Client
	all    arrivals
}

func (r arrivalsReader) folder(c assets.Category, path string, f assets.Folder) {
	r.Helper()
	path += "/" + f.Name
	r.container(c, path, assets.ListOptions{FolderID: f.ID})
	for _, below := range f.Folders {
		r.folder(c, path, below)
	}
}

// container reads the assets directly in a category or a folder.
func (r arrivalsReader) container(c assets.Category, path string, o assets.ListOptions) {
	r.Helper()
	for listed, err := range r.client.List(r.Context(), o) {
		if err != nil {
			r.Fatal(err)
		}
		a, err := r.client.Asset(r.Context(), listed.ID)
		if err != nil {
			r.Fatal(err)
		}
		place := path + "/" + a.Filename()
		if _, twice := r.all[place]; twice {
			r.Errorf("there are two assets at %s", place)
		}
		r.all[place] = r.asset(c, a)
	}
}

// asset reads an asset. It ignores the provenance attribute, which differs between sources.
func (r arrivalsReader) asset(c assets.Category, a assets.Asset) arrival {
	r.Helper()
	is := arrival{Description: a.Metadata.Description, Tags: slices.Sorted(slices.Values(a.Tags)), Private: c.Private}
	for name, value := range a.Metadata.CustomAttributes {
		if name == metadata.Provenance {
			continue
		}
		if is.Attributes == nil {
			is.Attributes = map[string]string{}
		}
		text, ok := value.(string)
		if !ok {
			text = fmt.Sprintf("%T %[1]v", value)
		}
		is.Attributes[name] = text
	}
	body, _, err := r.client.Download(r.Context(), a.URL, 0)
	if err != nil {
		r.Fatal(err)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		r.Fatal(err)
	}
	if err := body.Close(); err != nil {
		r.Fatal(err)
	}
	is.Checksum = checksumOf(string(content))
	return is
}

// named returns attributes from pairs of names and values.
func named(pairs ...string) map[string]string {
	all := map[string]string{}
	for n := 0; n < len(pairs); n += 2 {
		all[pairs[n]] = pairs[n+1]
	}
	return all
}

// expected returns the assets that a migration of the library from a directory creates.
func (l *richLibrary) expected() arrivals {
	want := arrivals{}
	add := func(key, place string, a arrival) {
		a.Checksum = checksumOf(l.files[key])
		want[place] = a
	}
	add("shoot/one.jpg", "Photos/shoots/2019/07/one.jpg", arrival{
		Description: "Two ships & a quay", Tags: []string{"night", "sea"},
		Attributes: named("title", "船 at a quay", "headline", "Schiffe im Größenvergleich", "caption", "caption of IPTC", "creator", "Ida; Ole", "copyright", "© Ida Blåmyr",
			"created", "2019-07-21T14:03:22+02:00", "latitude", "59.9", "longitude", "10.75", "Camera", "by Maker"),
	})
	add("shoot/noon.png", "Photos/shoots/2020/01/noon.png", arrival{
		Tags: []string{"noon", "sun, high"}, Attributes: named("creator", "Ida; Ole", "created", "2020-01-02T12:00:00", "rating", "4", "credit", "The Paper"),
	})
	add("scan/page.tiff", "Images/scan/page.tiff", arrival{
		Tags: []string{"Seite ß", "page"}, Attributes: named("title", "title of the sidecar", "caption", "A page", "copyright", "nobody", "city", "Bergen", "Shelf", "12b"),
	})
	add("web/banner.webp", "Images/web/banner.webp", arrival{
		Description: "A banner", Attributes: named("caption", "A caption is no description", "copyright", "The Shop"),
	})
	add("phone/IMG_0001.heic", "Images/phone/IMG_0001.heic", arrival{
		Description: "Ferry", Attributes: named("title", "On the way", "created", "2021-05-06T10:08:09Z", "latitude", "-34.6", "longitude", "-58.38", "people", "Ida; José"),
	})
	add("agency/deal.jpg", "Images/agency/deal.jpg", arrival{
		Description: `The deal, "signed"`, Tags: []string{"2019", "deal"}, Attributes: named("client", "Sidecar & Sons", "Rights holder", "Agency", "Uses", "print", "markets", "NO; SE"),
	})
	add("agency/raw.jpg", "Images/agency/raw.jpg", arrival{
		Tags: []string{"raw"}, Attributes: named("caption", "of the stem", "title", "title of the table", "Rights holder", "Table"),
	})
	add("agency/full.jpg", "Images/agency/full.jpg", arrival{Attributes: named("instructions", "Not before noon")})
	add("agency/bad.jpg", "Images/agency/bad.jpg", arrival{Attributes: named("caption", "still there")})
	add("long/long.txt", "Documents/long/long.txt", arrival{Description: strings.TrimSpace(strings.Repeat("word ", 204)) + "…", Attributes: named("kept", "this")})
	add("secret/plans/plan.pdf", "Vault/plans/plan.pdf", arrival{Description: "Not for everybody", Private: true})
	add("dump/public/press/a&b 100%.txt", "Documents/press/a&b 100%.txt", arrival{Tags: []string{"50% off", "a;b"}, Attributes: named("Größe in €", "<12>")})
	add("dump/public/été/#1 'ü' + x.txt", "Documents/été/#1 'ü' + x.txt", arrival{})
	add("tags/tagged.txt", "Documents/tags/tagged.txt", arrival{Tags: []string{"Ocean", "archive", "boats", "quay", "txt"}})
	add("caption/says.jpg", "Images/caption/says.jpg", arrival{Description: "Says who it is"})
	add("names/Old Name (1).txt", "Documents/names/old-name-1.txt", arrival{Description: "Ένα όνομα", Tags: []string{"one", "two"}})
	add("plain.txt", "Documents/plain.txt", arrival{})
	all := metadata.Precedence()
	for n, one := range all {
		for _, other := range all[n+1:] {
			by := one
			if one == metadata.FromStorage { // which a directory does not have
				by = other
			}
			a := arrival{Attributes: named("title", "said by "+string(by))}
			add(pairOf(one, other), "Images/"+pairOf(one, other), a)
		}
	}
	return want
}

// expectedOfBucket returns the assets that a migration of the library from a bucket creates.
func (l *richLibrary) expectedOfBucket() arrivals {
	want := l.expected()
	for place, a := range want {
		if strings.HasPrefix(place, "Images/pairs/storage and ") {
			a.Attributes["title"] = "said by storage"
		}
	}
	plain := want["Documents/plain.txt"]
	plain.Description, plain.Attributes = "kept with ☃", named("cost-center", "42", "Status", "free")
	want["Documents/plain.txt"] = plain
	return want
}

// writes counts the requests since the last call that may have changed something, by method.
func (s *service) writes() map[string]int {
	n := map[string]int{}
	for _, r := range s.drain() {
		if method, _, _ := strings.Cut(r, " "); method != "GET" && method != "HEAD" {
			n[method]++
		}
	}
	return n
}

// wantWrites checks the number of requests since the last check that may have changed something.
func (s *service) wantWrites(t *testing.T, how string, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, s.writes()); diff != "" {
		t.Errorf("%s wrote otherwise than wanted:\n%s", how, diff)
	}
}

// wantArrived checks that a service has the wanted assets and no others.
func wantArrived(t *testing.T, s *service, want arrivals) {
	t.Helper()
	if diff := cmp.Diff(want, arrivedAt(t, s)); diff != "" {
		t.Errorf("what arrived is not what was expected:\n%s", diff)
	}
}

// nothing returns the counts of a run that changes nothing.
func nothing() map[string]int { return map[string]int{} }

// The test verifies that a migration from a directory copies metadata from every metadata source,
// and that a sync copies later changes of the metadata.
func TestEverythingArrivesFromADirectory(t *testing.T) {
	l, s, dir := newRichLibrary(), startService(t, sandbox.Options{}), t.TempDir()
	l.write(t, dir)
	ferry := func(want int, args ...string) string {
		t.Helper()
		return assetferry(t, dir, s.variables(), append(args, "lib", "--metadata", "table.csv")...).must(t, want)
	}
	ferry(exit.CodeItems, "plan") // one sidecar cannot be read
	s.wantWrites(t, "plan", nothing())
	p := assetferry(t, dir, s.variables(), "migrate", "lib", "--metadata", "table.csv")
	all := p.must(t, exit.CodeItems) // rules that place objects need the metadata, so a sidecar that cannot be read is an error
	all += p.stderr.String() + assetferry(t, dir, s.variables(), "report").must(t, exit.CodeDone)
	for _, message := range []string{
		"failed    agency/bad.jpg: sidecar agency/bad.jpg.json was not read: line 3, column 12: ",
		"1 object with shortened or omitted text;",
		"long/long.txt\n        description: cut to 1020 of 1499 characters: the service accepts 1024\n",
	} {
		if !strings.Contains(all, message) {
			t.Errorf("neither the run nor its report shows %q:\n%s", message, all)
		}
	}
	edit(t, filepath.Join(dir, "lib/agency/bad.jpg.json"), brokenSidecar, "{}")
	ferry(exit.CodeDone, "migrate")
	want := l.expected()
	wantArrived(t, s, want)
	s.drain()
	ferry(0, "migrate")
	s.wantWrites(t, "a second migrate", nothing())
	ferry(0, "sync")
	s.wantWrites(t, "sync", nothing())

	edit(t, filepath.Join(dir, "lib/agency/deal.jpg.json"), "Sidecar & Sons", "Sons & Daughters")
	edit(t, filepath.Join(dir, "table.csv"), "Ένα όνομα", "Renamed")
	ferry(0, "sync")
	s.wantWrites(t, "sync of what was edited", map[string]int{"PATCH": 2})
	want["Images/agency/deal.jpg"].Attributes["client"] = "Sons & Daughters"
	named := want["Documents/names/old-name-1.txt"]
	named.Description = "Renamed"
	want["Documents/names/old-name-1.txt"] = named
	wantArrived(t, s, want)
	ferry(0, "sync")
	s.wantWrites(t, "sync after that", nothing())

	exported(t, s, dir, want)
}

// exported verifies that an export, and a migration from one environment to another, copy all
// assets with their metadata to an empty environment.
func exported(t *testing.T, from *service, dir string, want arrivals) {
	t.Helper()
	const byTemplate = "mapping:\n  rules:\n    - use: export\n"
	t.Run("export", func(t *testing.T) {
		assetferry(t, dir, from.variables(), "export", "out").must(t, 0)
		from.drain()
		to, elsewhere := startService(t, sandbox.Options{}), t.TempDir()
		tree{"assetferry.yaml": byTemplate}.write(t, elsewhere)
		again(t, to, elsewhere, to.variables(), filepath.Join(dir, "out"), want)
		assetferry(t, elsewhere, to.variables(), "export", "out").must(t, 0)
		sameFiles(t, filepath.Join(dir, "out"), filepath.Join(elsewhere, "out"))
	})
	t.Run("environment", func(t *testing.T) {
		to, elsewhere := startService(t, sandbox.Options{Environments: []tokens.Environment{{ID: "another0000000000000", AccessKey: "another-key-for-tests-of-no-use"}}}), t.TempDir()
		tree{"assetferry.yaml": byTemplate}.write(t, elsewhere)
		env := append(to.variables(), "ASSETFERRY_SOURCE_URL="+from.url, "ASSETFERRY_SOURCE_ACCESS_KEY="+string(from.env.AccessKey))
		again(t, to, elsewhere, env, "ckbox://"+from.env.ID, want)
	})
	t.Run("without rules", func(t *testing.T) {
		to, elsewhere := startService(t, sandbox.Options{}), t.TempDir()
		again(t, to, elsewhere, to.variables(), filepath.Join(dir, "out"), want)
	})
}

// again migrates to an empty environment. It verifies that the same assets are created, and that
// further runs change nothing.
func again(t *testing.T, to *service, dir string, env []string, source string, want arrivals) {
	t.Helper()
	assetferry(t, dir, env, "migrate", source, "--unsupported", "create").must(t, 0)
	wantArrived(t, to, want)
	for _, how := range []string{"migrate", "sync"} {
		assetferry(t, dir, env, how, source, "--unsupported", "create").must(t, 0)
		to.wantWrites(t, "a second "+how, nothing())
	}
}

// sameFiles verifies that two exports contain the same files with the same content. Sidecars and
// the manifest contain the name of the environment, so only their paths are compared.
func sameFiles(t *testing.T, one, other string) {
	t.Helper()
	a, b := readTree(t, one), readTree(t, other)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))); diff != "" {
		t.Errorf("the exports have other files:\n%s", diff)
	}
	for key, content := range a {
		if !strings.HasSuffix(key, ".json") && b[key] != content {
			t.Errorf("%s is not the same in both exports", key)
		}
	}
}

// The test verifies that a migration from a bucket also copies user metadata, headers and tags of
// objects, and that a sync copies later changes.
func TestEverythingArrivesFromABucket(t *testing.T) {
	l, s, dir := newRichLibrary(), startService(t, sandbox.Options{}), t.TempDir()
	l.write(t, dir)
	b, clock := l.bucket(t)
	env := append(append(s.variables(), b.variables()...), "AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything")
	run := func(want int, how string) {
		t.Helper()
		assetferry(t, dir, env, how, "s3://photos", "--s3-tags", "--metadata", "table.jsonl").must(t, want)
	}
	ferry := func(how string) { t.Helper(); run(exit.CodeDone, how) }
	run(exit.CodeItems, "plan")
	s.wantWrites(t, "plan", nothing())
	run(exit.CodeItems, "migrate")
	l.put(t, b, "agency/bad.jpg.json", "{}")
	ferry("migrate")
	want := l.expectedOfBucket()
	wantArrived(t, s, want)
	s.drain()
	for _, how := range []string{"migrate", "sync"} {
		ferry(how)
		s.wantWrites(t, "a second "+how, nothing())
	}

	clock.Advance(time.Minute)
	l.kept["plain.txt"]["Cost-Center"] = "43"
	l.put(t, b, "plain.txt", l.files["plain.txt"])
	l.put(t, b, "tags/tagged.txt.json", `{"tags": ["Sea|boats", "draft", "quay", "new"]}`)
	edit(t, filepath.Join(dir, "table.jsonl"), "title of the table", "new title")
	ferry("sync")
	s.wantWrites(t, "sync of what was edited", map[string]int{"PATCH": 3})
	want["Documents/plain.txt"].Attributes["cost-center"] = "43"
	want["Images/agency/raw.jpg"].Attributes["title"] = "new title"
	tagged := want["Documents/tags/tagged.txt"]
	tagged.Tags = []string{"Ocean", "archive", "boats", "new", "quay", "txt"}
	want["Documents/tags/tagged.txt"] = tagged
	wantArrived(t, s, want)
	ferry("sync")
	s.wantWrites(t, "sync after that", nothing())
}

// The test verifies that fields which a setting omits are not restored by a migration of the
// export, although the content still contains them.
func TestOmittedFieldsStayOmitted(t *testing.T) {
	l, s, dir := newRichLibrary(), startService(t, sandbox.Options{}), t.TempDir()
	l.write(t, dir)
	assetferry(t, dir, s.variables(), "migrate", "lib", "--include", "shoot/*", "--gps", "drop").must(t, 0)
	want, embedded := arrivals{}, arrivals{}
	for place, a := range l.expected() {
		if strings.HasPrefix(place, "Photos/") {
			embedded[place] = a
			a.Attributes = maps.Clone(a.Attributes)
			delete(a.Attributes, "latitude")
			delete(a.Attributes, "longitude")
			want[place] = a
		}
	}
	wantArrived(t, s, want)
	exported(t, s, dir, want)

	asked := startService(t, sandbox.Options{})
	assetferry(t, t.TempDir(), asked.variables(), "migrate", filepath.Join(dir, "out"), "--unsupported", "create", "--precedence", "sidecar,xmp,iptc,exif").must(t, 0)
	wantArrived(t, asked, embedded)
}

// The test verifies the settings for the precedence of metadata sources and for texts that are too
// long.
func TestSettingsDecideWhatArrives(t *testing.T) {
	l := newRichLibrary()
	long := func(description string) arrivals {
		return arrivals{"Documents/long/long.txt": {Description: description, Attributes: named("kept", "this"), Checksum: checksumOf("long")}}
	}
	turned := arrivals{}
	all := metadata.Precedence()
	for n, one := range all {
		for _, other := range all[n+1:] {
			by := other
			if other == metadata.FromStorage { // which a directory does not have
				by = one
			}
			key := pairOf(one, other)
			turned["Images/"+key] = arrival{Attributes: named("title", "said by "+string(by)), Checksum: checksumOf(l.files[key])}
		}
	}
	for _, test := range []struct {
		name string
		args []string
		exit int
		want arrivals
	}{
		{"left out", []string{"--include", "long/*", "--on-limit", "skip"}, 0, long("")},
		{"refused", []string{"--include", "long/*", "--on-limit", "fail"}, 3, arrivals{"Documents/long/long.txt": {Checksum: checksumOf("long")}}}, // and is reported as failed
		{"turned", []string{"--include", "pairs/*", "--metadata", "table.csv", "--precedence", "exif,iptc,xmp,storage,sidecar,table"}, 0, turned},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, dir := startService(t, sandbox.Options{}), t.TempDir()
			l.write(t, dir)
			for range 2 {
				assetferry(t, dir, s.variables(), append([]string{"migrate", "lib"}, test.args...)...).must(t, test.exit)
				wantArrived(t, s, test.want)
			}
			if test.exit == 0 {
				return
			}
			edit(t, filepath.Join(dir, "lib/long/long.txt.json"), strings.Repeat("word ", 300), "short")
			assetferry(t, dir, s.variables(), append([]string{"migrate", "lib"}, test.args...)...).must(t, 0)
			s.wantWrites(t, "a description that fits", map[string]int{"PATCH": 1})
			wantArrived(t, s, long("short"))
		})
	}
}
