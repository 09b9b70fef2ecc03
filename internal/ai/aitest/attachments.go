package aitest

import (
	"bytes"
	"io/fs"
	"slices"
	"testing"

	"assetferry/internal/ai"
)

func attachmentLaws() []law {
	return []law{
		{"a document is stored unchanged", keepsDocuments},
		{guess("a batch of documents is stored in order"), takesBatches},
		{"files of supported types are accepted", takesFiles},
		{guess("a file can be read, listed and deleted"), listsFiles},
		{"files of other types are rejected", refusesOtherKinds},
		{"an image above the size limit is rejected", refusesLargeImages},
	}
}

const html = "<h1>Title</h1><p data-id=\"1\">Ünïcode &amp; <b>more</b></p>"

func keepsDocuments(t *testing.T, s *scratch) {
	c := s.conversation(t)
	id, err := s.AddDocument(t.Context(), c, ai.Document{Content: html, Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Document(t.Context(), c, id)
	if err != nil || d.ID != id || d.Content != html {
		t.Errorf("got %+v, %v", d, err)
	}
	if err := s.DeleteDocument(t.Context(), c, id); err != nil {
		t.Error(err)
	}
	_, err = s.Document(t.Context(), c, id)
	is(t, "after deleting", err, fs.ErrNotExist)
	_, err = s.AddDocument(t.Context(), unique("missing"), ai.Document{Content: html})
	is(t, "in a conversation that does not exist", err, fs.ErrNotExist)
}

func takesBatches(t *testing.T, s *scratch) {
	c := s.conversation(t)
	var all []ai.Document
	for _, content := range []string{"<p>1</p>", "<p>2</p>", "<p>3</p>"} {
		all = append(all, ai.Document{Content: content})
	}
	made, err := s.AddDocuments(t.Context(), c, all)
	if err != nil {
		t.Fatal(err)
	}
	for n, id := range made {
		if d, err := s.Document(t.Context(), c, id); err != nil || d.Content != all[n].Content {
			t.Errorf("document %d: got %+v, %v", n, d, err)
		}
	}
	listed := ids(collect(t, s.Documents(t.Context(), c, ai.Page{Limit: 2})), func(d ai.Document) string { return d.ID })
	if !sameIDs(listed, made) {
		t.Errorf("listed: got %v, want %v", listed, made)
	}
}

func sameIDs(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// kinds returns small files of the types that can be made without a library.
func kinds(t *testing.T) []ai.File {
	return []ai.File{
		file("a.png", "image/png", picture(t, 32, 16)),
		file("a b.txt", "text/plain", []byte("Ünïcode")),
		file("ä.md", "text/markdown", []byte("# Title\n\ntext\n")),
		file("a.html", "text/html", []byte(html)),
	}
}

func takesFiles(t *testing.T, s *scratch) {
	c := s.conversation(t)
	for _, f := range kinds(t) {
		if id, err := s.UploadFile(t.Context(), c, f); err != nil || id == "" {
			t.Errorf("%s: got %q, %v", f.Name, id, err)
		}
	}
	_, err := s.UploadFile(t.Context(), unique("missing"), kinds(t)[0])
	is(t, "in a conversation that does not exist", err, fs.ErrNotExist)
}

func listsFiles(t *testing.T, s *scratch) {
	c := s.conversation(t)
	var made []string
	for _, f := range kinds(t) {
		f.Attributes = map[string]string{"label": f.Name}
		id, err := s.UploadFile(t.Context(), c, f)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, id)
		got, err := s.File(t.Context(), c, id)
		if err != nil || got.ID != id || got.Name != f.Name || got.Type != f.Type || got.Size != f.Size || !bytes.Contains(got.Attributes, []byte("label")) {
			t.Errorf("got %+v with %s, %v", got, got.Attributes, err)
		}
	}
	fileID := func(f ai.StoredFile) string { return f.ID }
	if listed := ids(collect(t, s.Files(t.Context(), c, ai.Page{Limit: 3})), fileID); !sameIDs(listed, made) {
		t.Errorf("listed: got %v, want %v", listed, made)
	}
	if err := s.DeleteFile(t.Context(), c, made[0]); err != nil {
		t.Error(err)
	}
	_, err := s.File(t.Context(), c, made[0])
	is(t, "after deleting", err, fs.ErrNotExist)
	if listed := ids(collect(t, s.Files(t.Context(), c)), fileID); !sameIDs(listed, made[1:]) {
		t.Errorf("listed after deleting: got %v", listed)
	}
}

func refusesOtherKinds(t *testing.T, s *scratch) {
	c := s.conversation(t)
	for _, f := range []ai.File{
		file("a.exe", "application/octet-stream", []byte("MZ\x00\x01")),
		file("a.gif", "image/gif", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")),
		file("a.png", "image/png", []byte("not an image")),
	} {
		_, err := s.UploadFile(t.Context(), c, f)
		if e := refused(t, f.Name, err); e.Hint() == "" {
			t.Errorf("%s: %v has no hint", f.Name, err)
		}
	}
}

// refusesLargeImages accepts a rejection of the upload or of the message.
func refusesLargeImages(t *testing.T, s *scratch) {
	limit := max(s.model.Limits.MaxImageSize, s.model.Limits.MaxFileSize)
	if limit == 0 {
		t.Fatalf("the model %s has no size limit", s.model.ID)
	}
	c := s.conversation(t)
	large := append(picture(t, 32, 16), make([]byte, limit)...)
	id, err := s.UploadFile(t.Context(), c, file("large.png", "image/png", large))
	if err == nil {
		err = ended(s.Send(t.Context(), c, ai.Message{Prompt: "Describe the image.", Model: s.model.ID, Content: []ai.Item{ai.FileItem(id)}}))
	}
	refused(t, "a large image", err)
}

func pageLaws() []law {
	return []law{
		{"a web page can be read", readsPages},
		{"a web page that does not exist is rejected", refusesPages},
	}
}

func readsPages(t *testing.T, s *scratch) {
	c := s.conversation(t)
	id, err := s.AddWebResource(t.Context(), c, ai.WebResource{URL: s.service.Page})
	if err != nil {
		t.Fatal(err)
	}
	if all := s.say(t, c, ai.Message{Prompt: "What is the page about?", Content: []ai.Item{ai.WebResourceItem(id)}}); joined(all) == "" {
		t.Error("no text")
	}
	got, err := s.WebResource(t.Context(), c, id)
	if err != nil || got.ID != id || got.URL != s.service.Page {
		t.Errorf("got %+v, %v", got, err)
	}
	if listed := collect(t, s.WebResources(t.Context(), c)); len(listed) != 1 || listed[0].ID != id {
		t.Errorf("listed: got %+v", listed)
	}
	if err := s.DeleteWebResource(t.Context(), c, id); err != nil {
		t.Error(err)
	}
	_, err = s.WebResource(t.Context(), c, id)
	is(t, "after deleting", err, fs.ErrNotExist)
}

func refusesPages(t *testing.T, s *scratch) {
	_, err := s.AddWebResource(t.Context(), s.conversation(t), ai.WebResource{URL: "http://127.0.0.1:1/nothing"})
	if e := refused(t, "a web page that does not exist", err); e.Status != 422 {
		t.Errorf("got %v, want 422", err)
	}
}
