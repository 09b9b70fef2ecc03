package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A service is a stand-in for the asset management service that needs little CPU time. It reads
// uploads like a real server, but stores only the number of the object for each asset. Name and
// content are computed from the number, so the service can return its assets and recognize
// duplicate uploads.
type service struct {
	library
	url               string           // the base URL
	id                func(int) string // returns the ID of the asset of an object
	latency           time.Duration
	uploads, requests atomic.Int64
	first, upload     moment
	held              atomic.Pointer[hold]
	arrived           arrivals

	mu      sync.Mutex
	folders []folder // the ID is the index plus one
	inside  map[string][]asset
	known   time.Time // the creation time of the assets of remember
}

// A hold delays all uploads after the first ones until the client is dead.
type hold struct {
	left atomic.Int64
	dead chan struct{}
}

// holdAfter delays uploads after the first n. The returned function refuses the delayed ones.
func (s *service) holdAfter(n int) (refuse func()) {
	h := &hold{dead: make(chan struct{})}
	h.left.Store(int64(n))
	s.held.Store(h)
	return func() {
		s.held.Store(nil)
		close(h.dead)
	}
}

type folder struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	CategoryID string `json:"categoryId"`
	ParentID   string `json:"parentId,omitempty"`
}

type asset struct {
	number int
	at     time.Time
}

const theCategory = "images"

func newService(l library, latency time.Duration) *service {
	return &service{library: l, latency: latency, id: assetID, inside: map[string][]asset{}}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.first.now()
	s.requests.Add(1)
	time.Sleep(s.latency)
	route := r.Method + " " + r.URL.Path
	switch {
	case route == "POST /assets":
		s.take(w, r)
	case route == "GET /assets":
		s.list(w, r)
	case strings.HasPrefix(route, "GET /assets/"):
		s.one(w, r)
	case route == "GET /categories":
		answer(w, http.StatusOK, page([]any{map[string]any{"id": theCategory, "name": "Images", "extensions": []string{"jpg"}}}))
	case route == "GET /limits":
		answer(w, http.StatusOK, map[string]any{"pricingPlanName": "bench"})
	case route == "POST /folders":
		s.makeFolder(w, r)
	case strings.HasPrefix(route, "GET /folders"):
		s.showFolders(w, strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/folders"), "/"))
	default:
		http.Error(w, `{"message":"unknown route"}`, http.StatusNotImplemented)
	}
}

func page(items []any) map[string]any {
	return map[string]any{"items": items, "totalCount": len(items), "limit": 50, "offset": 0}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client reports the error
}

// take reads an upload.
func (s *service) take(w http.ResponseWriter, r *http.Request) {
	s.upload.now()
	if h := s.held.Load(); h != nil && h.left.Add(-1) < 0 {
		<-h.dead
		http.Error(w, "too late", http.StatusServiceUnavailable)
		return
	}
	form, err := r.MultipartReader()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	container := theCategory
	for {
		part, err := form.NextPart()
		if err != nil {
			http.Error(w, "no file: "+err.Error(), http.StatusBadRequest)
			return
		}
		if part.FormName() != "file" {
			value, _ := io.ReadAll(io.LimitReader(part, 1<<10))
			container = string(value)
			continue
		}
		stamp := make([]byte, stampLength)
		_, err = io.ReadFull(part, stamp)
		rest, err2 := io.Copy(io.Discard, part)
		if err != nil || err2 != nil {
			http.Error(w, "cut off", http.StatusBadRequest)
			return
		}
		n, ok := s.keep(container, part.FileName(), string(stamp), stampLength+rest)
		if !ok {
			http.Error(w, `{"message":"not in the library"}`, http.StatusBadRequest)
			return
		}
		s.uploads.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(s.appendAsset(nil, container, asset{n, time.Now()}))
		return
	}
}

// keep records the upload of an object. It returns false if the library has no such object.
func (s *service) keep(container, name, stamp string, size int64) (n int, ok bool) {
	n, err := strconv.Atoi(stamp)
	ok = err == nil && 0 <= n && n < s.objects && size == s.sizeOf(n) && name == path.Base(s.key(n))
	s.arrived.record(n, ok)
	if ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inside[container] = append(s.inside[container], asset{n, time.Now()})
	}
	return n, ok
}

// appendAsset appends an asset in the JSON format of the service.
func (s *service) appendAsset(b []byte, container string, a asset) []byte {
	name := strings.TrimSuffix(path.Base(s.key(a.number)), ".jpg")
	b = fmt.Appendf(b, `{"id":"%s","name":"%s","extension":"jpg","size":%d,"mimeType":"image/jpeg","categoryId":"%s",`,
		s.id(a.number), name, s.size, theCategory)
	if container != theCategory {
		b = fmt.Appendf(b, `"folderId":"%s",`, container)
	}
	at := a.at.UTC().Format("2006-01-02T15:04:05.000Z")
	return fmt.Appendf(b, `"uploadedAt":"%s","lastModifiedAt":"%s","tags":[],"url":"%s/assets/%s/file","imageUrls":{},"metadata":{"metadataProcessingStatus":"queued"}}`,
		at, at, s.url, s.id(a.number))
}

// assetID returns an ID as long as those of the service, in random order.
func assetID(n int) string { return fmt.Sprintf("%012x%08x", uint64(n+1)*0x9e3779b97f4a7c15>>16, n) }

// list answers with the assets of a container, newest first.
func (s *service) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	container := query.Get("folderId")
	if container == "" {
		container = query.Get("categoryId")
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	offset, _ := strconv.Atoi(query.Get("offset"))
	s.mu.Lock()
	all := s.inside[container] // only grows
	s.mu.Unlock()
	b := []byte(`{"items":[`)
	for n := offset; n < min(offset+limit, len(all)); n++ {
		if n > offset {
			b = append(b, ',')
		}
		b = s.appendAsset(b, container, all[len(all)-1-n])
	}
	b = fmt.Appendf(b, `],"totalCount":%d,"limit":%d,"offset":%d}`, len(all), limit, offset)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the client reports the error
}

// one answers with an asset of remember, or with its content.
func (s *service) one(w http.ResponseWriter, r *http.Request) {
	id, isFile := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/assets/"), "/file")
	n, err := strconv.ParseInt(id[max(0, len(id)-8):], 16, 64)
	if err != nil || int(n) >= s.objects || s.id(int(n)) != id {
		http.Error(w, `{"message":"no such asset"}`, http.StatusNotFound)
		return
	}
	if !isFile {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.appendAsset(nil, s.folderID(int(n)), asset{int(n), s.known})) // the client reports the error
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(s.size, 10))
	_ = s.writeContent(w, int(n), 0) // the client reports the error
}

func (s *service) makeFolder(w http.ResponseWriter, r *http.Request) {
	var f folder
	if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.ID = fmt.Sprintf("folder%06d", len(s.folders)+1)
	if f.CategoryID == "" {
		f.CategoryID = theCategory
	}
	s.folders = append(s.folders, f)
	answer(w, http.StatusCreated, f)
}

// showFolders answers with the top-level folders, or with a folder and its subfolders.
func (s *service) showFolders(w http.ResponseWriter, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inside, self := []any{}, folder{}
	for _, f := range s.folders {
		if f.ParentID == id {
			inside = append(inside, f)
		}
		if f.ID == id {
			self = f
		}
	}
	switch {
	case id == "":
		answer(w, http.StatusOK, map[string]any{"items": inside, "totalCount": len(inside)})
	case self.ID == "":
		http.Error(w, `{"message":"no such folder"}`, http.StatusNotFound)
	default:
		answer(w, http.StatusOK, map[string]any{"id": id, "name": self.Name, "categoryId": self.CategoryID, "parentId": self.ParentID, "folders": inside})
	}
}

// remember adds all assets of the history of the library.
func (s *service) remember() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = orderedID
	s.known = time.Now().Add(-3 * time.Minute) // earlier than in the state database, but after the start of the run
	for n := range s.objects {
		s.inside[s.folderID(n)] = append(s.inside[s.folderID(n)], asset{n, s.known})
	}
}
