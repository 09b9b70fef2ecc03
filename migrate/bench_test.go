package migrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/sources/local"
	"assetferry/state"
)

const (
	benchFiles   = 5000
	benchSize    = 20 << 10
	benchWorkers = migrate.DefaultConcurrency
)

// BenchmarkMigrate moves 5,000 files of 20 KiB from a disk into a sandbox in
// memory, with a durable journal, beside a bare loop that sends the same
// requests with the same concurrency and does nothing else. Compare assets/s.
func BenchmarkMigrate(b *testing.B) {
	dir := b.TempDir()
	content := bytes.Repeat([]byte("0123456789abcdef"), benchSize/16)
	for n := range benchFiles {
		folder := filepath.Join(dir, fmt.Sprintf("folder%02d", n/100))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			b.Fatal(err)
		}
		copy(content, fmt.Sprintf("%08d", n))
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("file%04d.bin.zip", n)), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("bare", func(b *testing.B) { benchBare(b, dir) })
	b.Run("assetferry", func(b *testing.B) { benchEngine(b, dir) })
}

type benchWorld struct {
	url    string
	tokens *token.Minter
}

func newBenchWorld(b *testing.B) benchWorld {
	env := sandbox.NewCredentials()
	s, err := sandbox.New(sandbox.Options{Environments: []sandbox.Environment{{ID: env.EnvironmentID, AccessKey: env.AccessKey}}})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(s)
	b.Cleanup(func() { server.Close(); s.Close() })
	tokens, err := token.NewMinter(token.NewSecret(string(env.AccessKey)), token.Claims{Environment: env.EnvironmentID})
	if err != nil {
		b.Fatal(err)
	}
	return benchWorld{server.URL, tokens}
}

func (w benchWorld) client(b *testing.B) *assets.Client {
	c, err := assets.New(assets.Options{BaseURL: w.url, Tokens: w.tokens})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.CloseIdleConnections)
	return c
}

func benchEngine(b *testing.B, dir string) {
	for b.Loop() {
		b.StopTimer()
		w := newBenchWorld(b)
		client := w.client(b)
		source, err := local.New(dir, local.Options{})
		if err != nil {
			b.Fatal(err)
		}
		journal, err := state.Open(b.Context(), filepath.Join(b.TempDir(), "journal.db"))
		if err != nil {
			b.Fatal(err)
		}
		pair, err := journal.Pair(b.Context(), dir, "bench", w.url)
		if err != nil {
			b.Fatal(err)
		}
		rules, err := json.Marshal(migrate.DefaultRules())
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		deps := migrate.Deps{Source: source, Dest: client, Journal: journal}
		run, err := journal.Begin(b.Context(), pair, "migrate", rules)
		if err != nil {
			b.Fatal(err)
		}
		plan, err := migrate.NewPlanner(deps, migrate.DefaultRules()).Plan(b.Context(), run)
		if err != nil {
			b.Fatal(err)
		}
		if err := migrate.NewApplier(deps, client).Apply(b.Context(), plan.Run); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if sum, err := journal.SumReceipts(b.Context(), pair.ID); err != nil || sum.Objects != benchFiles {
			b.Fatalf("got %d receipts (%v), want %d", sum.Objects, err, benchFiles)
		}
		if err := journal.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(benchFiles*float64(b.N)/b.Elapsed().Seconds(), "assets/s")
}

// benchBare reads each file and sends it in one request, to a folder made before.
func benchBare(b *testing.B, dir string) {
	for b.Loop() {
		b.StopTimer()
		w := newBenchWorld(b)
		folder := benchFolder(b, w)
		secret, err := w.tokens.Token(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(files) != benchFiles {
			b.Fatalf("got %d files (%v)", len(files), err)
		}
		client := &http.Client{Transport: assets.NewTransport(nil)}
		b.StartTimer()
		todo := make(chan string)
		var workers sync.WaitGroup
		for range benchWorkers {
			workers.Go(func() {
				for name := range todo {
					if err := post(b.Context(), client, w.url, secret.Reveal(), folder, name); err != nil {
						b.Error(err)
					}
				}
			})
		}
		for _, name := range files {
			todo <- name
		}
		close(todo)
		workers.Wait()
	}
	b.ReportMetric(benchFiles*float64(b.N)/b.Elapsed().Seconds(), "assets/s")
}

func benchFolder(b *testing.B, w benchWorld) string {
	client := w.client(b)
	for c, err := range client.Categories(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range c.Extensions {
			if e == "zip" {
				id, err := client.CreateFolder(b.Context(), assets.NewFolder{Name: "bench", CategoryID: c.ID})
				if err != nil {
					b.Fatal(err)
				}
				return id
			}
		}
	}
	b.Fatal("no category allows zip")
	return ""
}

func post(ctx context.Context, client *http.Client, url, secret, folder, name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("folderId", folder); err != nil {
		return err
	}
	part, err := form.CreateFormFile("file", filepath.Base(name))
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	return send(ctx, client, url, secret, form.FormDataContentType(), &body)
}

// send sends a form and wants to hear that an asset was made.
func send(ctx context.Context, client *http.Client, url, secret, contentType string, form io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/assets", form)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", secret)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, strings.TrimSpace(string(answer)))
	}
	return err
}
