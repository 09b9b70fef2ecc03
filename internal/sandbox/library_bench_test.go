package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

// BenchmarkLibraryPage renders pages of a library with 100,000 assets and 5,000 folders.
func BenchmarkLibraryPage(b *testing.B) {
	s, category := manyAssets(b)
	began := time.Now()
	if err := records.FoldAssets(s.store); err != nil {
		b.Fatal(err)
	}
	b.Logf("folded %d assets in %v", many, time.Since(began))
	insertFolders(b, s, category)
	pages := library.New(s.shelves(), s.shelves(), library.NewAccess("secret", false), s.options.Log)
	const base = "/_sandbox/library"
	for name, path := range map[string]string{
		"first": "/", "folders": base + "/categories/" + category + "/folders?page=50", "category": base + "/categories/" + category, "middle": base + "/categories/" + category + "?page=800",
		"last by size": base + "/categories/" + category + "?sort=size&order=desc&page=1667",
		"last by date": base + "/categories/" + category + "?sort=uploadedAt&order=desc&page=1667",
		"search":       base + "/workspaces/env/search?q=strassen", "one found": base + "/workspaces/env/search?q=054321",
	} {
		b.Run(name, func(b *testing.B) {
			at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
			r := httptest.NewRequestWithContext(context.WithValue(b.Context(), http.LocalAddrContextKey, at), "GET", path, nil)
			r.Host = "localhost"
			r.AddCookie(&http.Cookie{Name: "assetferry-library-80", Value: "secret"})
			for b.Loop() {
				w := httptest.NewRecorder()
				if pages.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatalf("%d: %s", w.Code, w.Body)
				}
			}
		})
	}
}

// insertFolders creates 50 folders with 99 subfolders each.
func insertFolders(b *testing.B, s *Server, category string) {
	b.Helper()
	err := s.store.Write(func(ses *store.Session) error {
		for i := range 50 {
			outer := records.Folder{ID: standin.NewUUID(), Name: fmt.Sprint("folder ", i), Category: category}
			if err := records.InsertFolder(ses, outer); err != nil {
				return err
			}
			for j := range 99 {
				if err := records.InsertFolder(ses, records.Folder{ID: standin.NewUUID(), Name: fmt.Sprint(j), Category: category, Parent: outer.ID}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
