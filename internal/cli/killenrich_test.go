package cli

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// troubles returns faults of every kind, for about a third of the requests for descriptions:
// rejected requests, errors before or after the change, lost connections, and streams that end
// early or contain an unexpected answer.
func troubles(t *testing.T) (assetFaults, aiFaults []fault.Rule) {
	t.Helper()
	const message = "POST /v1.1/conversations/{conversationId}/messages "
	for n, rule := range []string{
		message + "stream=error rate=0.03", message + "stream=cut rate=0.04", message + "stream=garbled rate=0.04", message + "stream=fenced rate=0.03",
		message + "stream=empty rate=0.03", message + "stream=nodone rate=0.02", message + "stream=envelope rate=0.02",
		message + "status=500 rate=0.03", message + "status=502 commit=after rate=0.03", message + "status=429 rate=0.02",
		message + "drop=before rate=0.03", message + "drop=after rate=0.03",
		"POST /v1/conversations status=503 rate=0.1", "POST /v1/conversations drop=after rate=0.1", "POST /v1/conversations status=500 commit=after rate=0.1",
		"POST /v1/conversations/{conversationId}/files status=500 commit=after rate=0.1", "POST /v1/conversations/{conversationId}/files drop=after rate=0.1",
		"POST /v1/conversations/{conversationId}/files status=503 rate=0.1",
		"DELETE /v1/conversations/{conversationId} status=500 rate=0.1", "DELETE /v1/conversations/{conversationId} drop=after rate=0.1",
		"DELETE /v1/conversations/{conversationId} status=502 commit=after rate=0.1",
		"GET /v1/conversations/{conversationId}/messages status=500 rate=0.3",
	} {
		f, err := fault.Parse(fmt.Sprintf("%s seed=%d", rule, n))
		if err != nil {
			t.Fatal(err)
		}
		aiFaults = append(aiFaults, f)
	}
	for n, rule := range []string{
		"GET /assets/{id} status=503 rate=0.1", "GET /assets/{id} drop=before rate=0.1",
		"GET /{workspaceId}/assets/{id}/file status=500 rate=0.1", "GET /{workspaceId}/assets/{id}/images/{size} status=500 rate=0.1",
		"GET /{workspaceId}/assets/{id}/images/{size} drop=before rate=0.1",
	} {
		f, err := fault.Parse(fmt.Sprintf("%s seed=%d", rule, n))
		if err != nil {
			t.Fatal(err)
		}
		assetFaults = append(assetFaults, f)
	}
	return assetFaults, aiFaults
}

// The test describes thousands of images with services that fail in every way, and kills the
// command five times. It verifies that each image is described once, that no conversation is left,
// and that the state database contains every billed request.
func TestKillDescribe(t *testing.T) {
	t.Parallel()
	const kills = 5
	dice := seedtest.Rand(t)
	pictures := longtest.Fewer(longtest.Size(60, 2000), 60)
	dir := t.TempDir()
	paint(t, dir+"/src", pictures)
	assetFaults, aiFaults := troubles(t)
	s := startService(t, sandbox.Options{Faults: assetFaults})
	w := startWords(t, s, aiservice.Options{Faults: aiFaults})
	env := append(s.variables(), w.variables()...)
	assetferry(t, dir, env, "migrate", "src").must(t, exit.CodeDone)
	assetferry(t, dir, env, "enrich", "audit").must(t, exit.CodeDone)

	describe := []string{"enrich", "describe", "--yes", "--json", "-j", "8", "--confirm-timeout", "100ms"}
	for range kills {
		p := commandWithin(t, 3*patience, dir, env, describe...)
		killAtRequest(t, w, p, 1+dice.IntN(pictures/(2*kills)), isMessage)
		if code := p.wait(t); runtime.GOOS != "windows" && code != -1 {
			t.Fatalf("exit code %d before it was killed\n%s", code, p.stderr.String())
		}
		w.conns.Rest(t)
		s.rest(t)
	}
	for n := 0; ; n++ {
		// The service refuses requests by chance, and the rate after that depends on its latency.
		p := commandWithProgress(t, dir, env, describe...)
		code := p.run(t)
		if code == exit.CodeDone {
			// One asset in thousands fails five times in a row. It is then skipped until a command
			// names it.
			given := failedDescriptions(t, dir, env)
			if len(given) == 0 {
				break
			}
			assetferry(t, dir, env, append([]string{"enrich", "describe", "--yes", "--again", "--confirm-timeout", "100ms", "--"}, given...)...).run(t)
			continue
		}
		if code != exit.CodeItems || n == 20 {
			t.Fatalf("exit code %d of run %d after the last kill\n%s", code, n, p.stderr.String())
		}
	}
	w.conns.Rest(t)

	described := map[string]int{}
	for _, e := range eachEvent(t, assetferry(t, dir, env, "enrich", "proposals", "--json").must(t, exit.CodeDone)) {
		if e.Type == "proposal" && e.State == "proposed" && e.Description != "" {
			described[e.AssetID]++
		}
	}
	if len(described) != pictures {
		t.Errorf("%d pictures are described, want %d", len(described), pictures)
	}
	for id, n := range described {
		if n != 1 {
			t.Errorf("%s is described %d times", id, n)
		}
	}
	stats, err := w.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Conversations != 0 {
		t.Errorf("%d conversations are left behind", stats.Conversations)
	}
	billed := 0
	for _, e := range eachEvent(t, assetferry(t, dir, env, "runs", "--json").must(t, exit.CodeDone)) {
		billed += e.BilledRequests
	}
	if billed != stats.BilledRequests {
		t.Errorf("the state database knows of %d billed calls, and the service of %d", billed, stats.BilledRequests)
	}
	t.Logf("%d pictures with %d billed calls", pictures, stats.BilledRequests)
}

// failedDescriptions returns the assets whose last request failed.
func failedDescriptions(t *testing.T, dir string, env []string) (assets []string) {
	t.Helper()
	for _, e := range eachEvent(t, assetferry(t, dir, env, "enrich", "proposals", "--only", "failed", "--json").must(t, exit.CodeDone)) {
		if e.Type == "proposal" {
			assets = append(assets, e.AssetID)
		}
	}
	return assets
}

// paint fills a folder with small images, each with its own colour.
func paint(t *testing.T, dir string, n int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		picture := image.NewRGBA(image.Rect(0, 0, 8, 8))
		for p := range 64 {
			picture.SetRGBA(p%8, p/8, color.RGBA{uint8(i), uint8(i >> 8), uint8(p), 255})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, picture); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("picture-%04d.png", i)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func isMessage(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages")
}
