package assets

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReplaceSendsTheFileOnly(t *testing.T) {
	var parts []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.RequestURI != "/assets/a%2Fb?workspaceId=w" {
			t.Errorf("got %s %s", r.Method, r.RequestURI)
		}
		form, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return
		}
		for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
			content, _ := io.ReadAll(part)
			parts = append(parts, part.FormName()+" "+part.FileName()+" "+string(content))
		}
		_, _ = io.WriteString(w, `{"id":"a/b","size":3}`)
	})
	a, err := c.Replace(t.Context(), "a/b", Replacement{Filename: `ü "q".jpg`, Size: 3, Open: content("abc")})
	if err != nil || a.ID != "a/b" || a.Size != 3 {
		t.Errorf("got %+v, %v", a, err)
	}
	if want := []string{"file ü %22q%22.jpg abc"}; !cmp.Equal(parts, want) {
		t.Errorf("got %q, want %q", parts, want)
	}
	for _, r := range []Replacement{{Size: 1, Open: content("a")}, {Filename: "a.jpg", Size: -1, Open: content("a")}, {Filename: "a.jpg"}} {
		if _, err := c.Replace(t.Context(), "a", r); err == nil {
			t.Errorf("%+v: no error", r)
		}
	}
}

func TestDecodeRevisions(t *testing.T) {
	const body = `{"items":[{"id":"r","createdAt":"2024-05-01T12:00:00.5Z","createdBy":"u","isCurrent":true,"size":7,"new":1},
		{"id":"q","createdAt":null,"createdBy":null,"isCurrent":false,"size":0}]}`
	got, err := serve(t, answers("200 "+body).ServeHTTP).Revisions(t.Context(), "a")
	want := []Revision{
		{ID: "r", CreatedAt: time.Date(2024, 5, 1, 12, 0, 0, 5e8, time.UTC), CreatedBy: "u", Current: true, Size: 7},
		{ID: "q"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDownloadRevision(t *testing.T) {
	a := answers("200 bytes of it")
	c := serve(t, a.ServeHTTP)
	body, _, err := c.DownloadRevision(t.Context(), Asset{ID: "x/y", URL: "https://cdn.example/ws/assets/x%2Fy/file"}, "r", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, []byte("bytes of it")) {
		t.Errorf("got %q, %v", got, err)
	}
	if r := a.got[0]; r.RequestURI != "/ws/assets/x%2Fy/revisions/r/file" || r.Header.Get("Authorization") != secret {
		t.Errorf("asked for %s", r.RequestURI)
	}
	for _, url := range []string{"", "https://cdn.example/file", "/assets/x/file"} {
		_, _, err := c.DownloadRevision(t.Context(), Asset{ID: "x", URL: url}, "r", 0)
		if err == nil || !strings.Contains(err.Error(), "asset x") {
			t.Errorf("%q: got %v", url, err)
		}
	}
}

func TestOffsetAnswers(t *testing.T) {
	for answer, ok := range map[string]bool{`200 {"offset":7}`: true, `200 {"offset":0}`: true, "200 {}": false, `200 {"offset":-1}`: false, "200 7": false} {
		got, err := serve(t, answers(answer).ServeHTTP).Offset(t.Context(), "a", "", "")
		if (err == nil) != ok || ok && got != int(answer[len(answer)-2]-'0') {
			t.Errorf("%s: got %d, %v", answer, got, err)
		}
	}
}
