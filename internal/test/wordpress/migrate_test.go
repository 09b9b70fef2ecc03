//go:build wordpress

package wordpress

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/test/built"
)

const imagesVariable = "ASSETFERRY_WORDPRESS_IMAGES"

// imageCount returns the number of images in the library.
func imageCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv(imagesVariable)
	if text == "" {
		return 120
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 60 {
		t.Fatalf("%s is %q, want a number of 60 or more", imagesVariable, text)
	}
	return n
}

// A migration runs the program on a site, with the sandbox as destination.
type migration struct {
	*Site
	program string
	dir     string
	env     []string
}

func newMigration(t *testing.T, s *Site) *migration {
	t.Helper()
	dir := t.TempDir()
	m := &migration{s, built.Program(t, dir), dir, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_DATA_HOME=" + dir + "/data", "ASSETFERRY_URL=sandbox",
		"ASSETFERRY_WORDPRESS_USER=" + s.User, "ASSETFERRY_WORDPRESS_PASSWORD=" + s.AppPassword,
	}}
	config := fmt.Sprintf("jobs:\n  library:\n    source: wordpress+%s\n    mapping: {rules: [{use: wordpress}]}\n", s.URL)
	must(t, os.WriteFile(filepath.Join(dir, "assetferry.yaml"), []byte(config), 0o600))
	return m
}

// run runs the program, which must end with an exit code, and returns its output.
func (m *migration) run(code int, args ...string) string {
	m.t.Helper()
	cmd := exec.Command(m.program, args...)
	cmd.Dir, cmd.Env = m.dir, m.env
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	_ = cmd.Run() // the exit code is checked
	if got := cmd.ProcessState.ExitCode(); got != code {
		m.t.Fatalf("%s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, &out, &problems)
	}
	if !slices.Contains(args, "json") && !slices.Contains(args, "--json") {
		m.t.Logf("%s\n%s%s", strings.Join(args, " "), &out, &problems)
	}
	return out.String()
}

// A record is an entry of the library, as the database or the destination has it.
type record struct {
	Description string
	Tags        string
	Attributes  map[string]string
	Size        int64
	OldURLs     []string
}

var (
	sizeFile = regexp.MustCompile(`"file";s:\d+:"([^"/]+)"`)
	original = regexp.MustCompile(`"original_image";s:\d+:"([^"]+)"`)
)

// inDatabase returns the records of the library by the path of the original upload, from the tables of
// the database and the files on the disk.
func (m *migration) inDatabase() map[string]record {
	m.t.Helper()
	all := map[string]record{}
	for _, row := range m.SQL(`SELECT p.post_title, p.post_excerpt, p.post_content, p.post_date_gmt, u.display_name, f.meta_value, IFNULL(a.meta_value, ''), IFNULL(d.meta_value, '')
		FROM wp_posts p JOIN wp_users u ON u.ID = p.post_author JOIN wp_postmeta f ON f.post_id = p.ID AND f.meta_key = '_wp_attached_file'
		LEFT JOIN wp_postmeta a ON a.post_id = p.ID AND a.meta_key = '_wp_attachment_image_alt' LEFT JOIN wp_postmeta d ON d.post_id = p.ID AND d.meta_key = '_wp_attachment_metadata'
		WHERE p.post_type = 'attachment' ORDER BY p.ID`) {
		title, caption, description, date, author, file, alt, details := row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
		r := record{Description: description, Attributes: map[string]string{"title": title, "caption": caption, "author": author, "uploaded": strings.Replace(date, " ", "T", 1) + "Z"}}
		if description == "" {
			r.Description = alt
		} else {
			r.Attributes["alt"] = alt
		}
		key, base := file, m.URL+"/wp-content/uploads/"
		r.OldURLs = append(r.OldURLs, base+file)
		if found := original.FindStringSubmatch(details); found != nil {
			key = path.Join(path.Dir(file), found[1])
			r.OldURLs = append(r.OldURLs, base+key)
		}
		for _, found := range sizeFile.FindAllStringSubmatch(details, -1) {
			r.OldURLs = append(r.OldURLs, base+path.Join(path.Dir(file), found[1]))
		}
		info, err := os.Stat(filepath.Join(m.Files, "wp-content", "uploads", filepath.FromSlash(key)))
		must(m.t, err)
		r.Size = info.Size()
		all[key] = r.normal()
	}
	return all
}

// atDestination returns the records of the assets, by the path below the category.
func (m *migration) atDestination() map[string]record {
	m.t.Helper()
	all := map[string]record{}
	for _, category := range []string{"Images", "Documents", "Files"} {
		for line := range strings.Lines(m.run(0, "assets", "ls", category, "--recursive", "--json")) {
			var a struct {
				Type        string
				Path        string
				Size        int64
				Description string
				Tags        []string
				Attributes  map[string]string `json:"custom_attributes"`
			}
			if err := json.Unmarshal([]byte(line), &a); err != nil || a.Type != "asset" {
				continue
			}
			delete(a.Attributes, "assetferry")
			_, key, _ := strings.Cut(a.Path, "/")
			all[key] = record{Description: a.Description, Tags: strings.Join(a.Tags, ","), Attributes: a.Attributes, Size: a.Size}
		}
	}
	urls := bufio.NewScanner(strings.NewReader(m.run(0, "urls", "--job", "library", "--format", "json")))
	urls.Buffer(nil, 1<<20)
	for urls.Scan() {
		var u struct{ Old, Key, Kind string }
		must(m.t, json.Unmarshal(urls.Bytes(), &u))
		if r := all[u.Key]; u.Kind == "given" {
			r.OldURLs = append(r.OldURLs, u.Old)
			all[u.Key] = r
		}
	}
	must(m.t, urls.Err())
	for key, r := range all {
		all[key] = r.normal()
	}
	return all
}

// normal returns a record in the form for comparison.
func (r record) normal() record {
	text := func(s string) string { return norm.NFC.String(strings.ReplaceAll(strings.TrimSpace(s), "\r\n", "\n")) }
	attributes := map[string]string{}
	for name, value := range r.Attributes {
		if value = text(value); value != "" {
			attributes[name] = value
		}
	}
	var urls []string
	for _, u := range r.OldURLs {
		urls = append(urls, plain(u))
	}
	slices.Sort(urls)
	return record{text(r.Description), r.Tags, attributes, r.Size, slices.Compact(urls)}
}

// plain returns a URL with its characters instead of their codes.
func plain(rawURL string) string {
	if s, err := url.PathUnescape(rawURL); err == nil {
		return s
	}
	return rawURL
}

// compare verifies that every entry of the database is an asset with the same metadata and all of its
// URLs, and that there are no others. An asset keeps URLs that the entry had before.
func (m *migration) compare() {
	m.t.Helper()
	want, got := m.inDatabase(), m.atDestination()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		is, ok := got[key]
		is.OldURLs = slices.DeleteFunc(is.OldURLs, func(u string) bool { return !slices.Contains(want[key].OldURLs, u) })
		if !ok {
			m.t.Errorf("%s is missing", key)
		} else if a, b := fmt.Sprintf("%+v", want[key]), fmt.Sprintf("%+v", is); a != b {
			m.t.Errorf("%s differs:\ndatabase    %s\ndestination %s", key, a, b)
		}
		delete(got, key)
	}
	for key := range got {
		m.t.Errorf("%s is at the destination, but not in the database", key)
	}
	m.t.Logf("compared %d entries", len(want))
}

// TestMigration migrates a library, and then follows a week of changes.
func TestMigration(t *testing.T) {
	s := Start(t, Options{})
	t.Logf("WordPress %s", s.Version)
	images := s.AddImages(imageCount(t), 0)
	s.AddFiles()
	m := newMigration(t, s)
	m.run(0, "doctor", "--job", "library")
	m.run(0, "plan", "--job", "library", "--probe")
	m.run(0, "migrate", "--job", "library")
	m.run(0, "verify", "--content", "--job", "library")
	m.run(0, "urls", "--check", "--all", "--job", "library")
	m.compare()
	sync := func() {
		t.Helper()
		for range 2 { // the second one trashes the objects that the first one found deleted
			m.run(0, "sync", "--job", "library", "--delete", "trash", "--grace-period", "0s", "--max-delete-percent", "5")
		}
		m.run(0, "verify", "--content", "--job", "library")
		m.compare()
	}
	for day, change := range []string{
		"",
		`wp_update_post(['ID' => $args[0][3], 'post_title' => 'Neuer Titel «写真»', 'post_excerpt' => 'Новая подпись']); update_post_meta($args[0][4], '_wp_attachment_image_alt', 'Ein neuer Text'); wp_update_post(['ID' => $args[0][4]]);`,
		`update_post_meta($args[0][7], '_wp_attachment_image_alt', 'Written without a time');`,
		`$file = get_attached_file($args[0][5]); $image = imagecreatetruecolor(500, 400); imagejpeg($image, $file); touch($file, time() + 60); wp_update_attachment_metadata($args[0][5], wp_generate_attachment_metadata($args[0][5], $file));`,
		`wp_delete_attachment($args[0][6], true);`,
		`$old = get_attached_file($args[0][8]); $new = dirname($old) . '/renamed-' . basename($old); rename($old, $new); update_attached_file($args[0][8], $new); wp_update_attachment_metadata($args[0][8], wp_generate_attachment_metadata($args[0][8], $new));`,
	} {
		t.Logf("day %d", day+1)
		if change != "" {
			s.PHP(change, images)
		}
		sync()
	}
	t.Log("day 7")
	s.PHP(`WP_Application_Passwords::delete_all_application_passwords(1);`)
	m.run(12, "sync", "--job", "library")
	password := s.PHP(`list($password) = WP_Application_Passwords::create_new_application_password(1, ['name' => 'another']); echo $password;`)
	m.env = append(m.env, "ASSETFERRY_WORDPRESS_PASSWORD="+password)
	s.AddImages(2, imageCount(t))
	sync()
}
