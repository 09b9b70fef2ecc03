//go:build browser

// Package browser tests with a real browser, headless Chromium. It uses the sandbox from a page of
// another HTTP origin, as editors do. It also opens the pages that we make for people, in every
// width and colour scheme and on paper; checkPage is for all of them. ASSETFERRY_AXE names the file
// axe.min.js of axe-core, the accessibility checker from npm.
//
//	ASSETFERRY_AXE=FILE go test -tags browser ./internal/test/browser -artifacts
package browser

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
)

//go:embed page.html
var page []byte

// A report is the result of the page, step by step.
type report struct {
	Steps []struct {
		Name, Error string
	}
	AssetID string
}

func TestPageOfAnotherOrigin(t *testing.T) {
	s := sandboxtest.Run(t, sandbox.Options{})
	reports := make(chan report, 1)
	previousKey := httptest.NewServer(pageServer(t, s, reports))
	t.Cleanup(previousKey.Close)

	shot := filepath.Join(t.ArtifactDir(), "page.png")
	output := browse(t, previousKey.URL, shot)
	select {
	case r := <-reports:
		checkReport(t, r)
	default:
		t.Fatalf("the page did not report; the browser says:\n%s", output)
	}
	checkScreenshot(t, shot)
}

// pageServer serves the page, the picture that it uploads and its settings, and receives its
// report.
func pageServer(t *testing.T, s sandboxtest.Running, reports chan<- report) http.Handler {
	mux := http.NewServeMux()
	serve := func(path, contentType string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(body)
		})
	}
	serve("/{$}", "text/html; charset=utf-8", page)
	serve("/picture.png", "image/png", picture(t))
	known, err := json.Marshal(map[string]string{
		"sandbox": s.URL,
		"token":   sandboxtest.Sign(s.Environment.AccessKey, sandboxtest.Claims(s.Environment, "admin")),
	})
	if err != nil {
		t.Fatal(err)
	}
	serve("/known.json", "application/json", known)
	reported := make(chan struct{})
	mux.HandleFunc("POST /report", func(w http.ResponseWriter, r *http.Request) {
		var got report
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		reports <- got
		close(reported)
		w.WriteHeader(http.StatusNoContent)
	})
	// The page contains this picture. So the page is only loaded, and Chromium only takes its
	// screenshot, when the report exists.
	mux.HandleFunc("GET /reported.png", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-reported:
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	})
	return mux
}

// browse opens a URL in Chromium, waits until it is loaded, and saves a screenshot.
func browse(t *testing.T, rawURL, shot string) []byte {
	t.Helper()
	arguments := []string{
		"--headless=new", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,1300", "--no-first-run",
		"--disable-background-networking", "--user-data-dir=" + t.TempDir(),
		"--screenshot=" + shot,
	}
	if os.Geteuid() == 0 { // Chromium's own sandbox does not work for root
		arguments = append(arguments, "--no-sandbox")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, chromium(t), append(arguments, rawURL)...)
	c.WaitDelay = time.Minute
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, output)
	}
	return output
}

// chromium returns the path of Chromium. The test fails without it, since it only runs on request.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium is installed; on Debian: apt-get install chromium")
	return ""
}

func checkReport(t *testing.T, r report) {
	t.Helper()
	const steps = 11
	if len(r.Steps) != steps {
		t.Errorf("the page took %d steps, want %d", len(r.Steps), steps)
	}
	for _, step := range r.Steps {
		if step.Error != "" {
			t.Errorf("%s: %s", step.Name, step.Error)
		}
	}
}

// red and blue are the colours of the two halves of the picture.
var (
	red  = color.NRGBA{R: 220, G: 30, B: 40, A: 255}
	blue = color.NRGBA{R: 20, G: 60, B: 200, A: 255}
)

func picture(t *testing.T) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 400, 300))
	for y := range 300 {
		for x := range 400 {
			if x < 200 {
				m.SetNRGBA(x, y, red)
			} else {
				m.SetNRGBA(x, y, blue)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkScreenshot searches the screenshot for the picture: the public original and its largest
// rendition, and the private one.
func checkScreenshot(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	reds, blues := count(m, red), count(m, blue)
	if want := 3 * 400 * 300 / 2; reds < want || blues < want {
		t.Errorf("%d pixels are red and %d blue, want %d: see %s", reds, blues, want, path)
	}
}

// count returns the number of pixels with a similar colour.
func count(m image.Image, like color.NRGBA) (n int) {
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			if near(c.R, like.R) && near(c.G, like.G) && near(c.B, like.B) {
				n++
			}
		}
	}
	return n
}

func near(a, b uint8) bool { return max(a, b)-min(a, b) < 12 }
