package main

import (
	"bytes"
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
	unordered         atomic.Bool  // lists have no order
	altered           atomic.Bool  // assets have other contents than the objects
	sent              atomic.Int64 // bytes of assets

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

const (
	theCategory     = "images"
	theCategoryName = "Images"
)

func newService(l library, latency time.Duration) *service {
	return &service{library: l, latency: latency, id: assetID, inside: map[string][]asset{}}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.first.now()
	s.requests.Add(1)
	defer sleepUntil(time.Now().Add(s.latency)) // the answer is sent on return
	route := r.Method + " " + r.URL.Path
	switch {
	case route == "POST /assets":
		s.take(w, r)
	case route == "GET /assets":
		s.list(w, r)
	case strings.HasPrefix(route, "GET /assets/"):
		s.one(w, r)
	case route == "GET /categories":
		answer(w, http.StatusOK, page([]any{map[string]any{"id": theCategory, "name": theCategoryName, "extensions": []string{"jpg"}}}))
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

// appendAsset appends an asset in the JSON format of the service. It avoids fmt, because the time of
// a page of assets counts for the program.
func (s *service) appendAsset(b []byte, container string, a asset) []byte {
	id := s.id(a.number)
	b = append(append(b, `{"id":"`...), id...)
	b = append(b, `","name":"`...)
	key := len(b)
	b = s.appendKey(b, a.number)
	b = append(b[:key], bytes.TrimSuffix(b[key+bytes.LastIndexByte(b[key:], '/')+1:], []byte(".jpg"))...)
	b = strconv.AppendInt(append(b, `","extension":"jpg","size":`...), s.size, 10)
	b = append(b, `,"mimeType":"image/jpeg","categoryId":"`+theCategory+`",`...)
	if container != theCategory {
		b = append(append(append(b, `"folderId":"`...), container...), `",`...)
	}
	const layout = "2006-01-02T15:04:05.000Z"
	at := a.at.UTC()
	b = at.AppendFormat(append(b, `"uploadedAt":"`...), layout)
	b = at.AppendFormat(append(b, `","lastModifiedAt":"`...), layout)
	b = append(append(b, `","tags":[],"url":"`...), s.url...)
	b = append(append(b, "/assets/"...), id...)
	return append(b, `/file","imageUrls":{},"metadata":{"metadataProcessingStatus":"queued"}}`...)
}

// assetID returns an ID as long as those of the service, in random order.
func assetID(n int) string { return fmt.Sprintf("%012x%08x", uint64(n+1)*0x9e3779b97f4a7c15>>16, n) }

// list answers with the assets of a container: newest first, oldest first if requested, or in no
// order.
func (s *service) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	container := query.Get("folderId")
	if container == "" {
		container = query.Get("categoryId")
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	offset, _ := strconv.Atoi(query.Get("offset"))
	s.mu.Lock()
	all := s.inside[container] // its elements never change
	s.mu.Unlock()
	b := append(make([]byte, 0, 400*limit), `{"items":[`...)
	for n := offset; n < min(offset+limit, len(all)); n++ {
		if n > offset {
			b = append(b, ',')
		}
		b = s.appendAsset(b, container, all[s.position(n, len(all), query.Get("order") == "asc")])
	}
	b = fmt.Appendf(b, `],"totalCount":%d,"limit":%d,"offset":%d}`, len(all), limit, offset)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the client reports the error
}

// position returns the index of the asset at a position of a list.
func (s *service) position(n, length int, ascending bool) int {
	switch {
	case s.unordered.Load():
		return n * 7919 % length // a prime number reaches each index once
	case ascending:
		return n
	}
	return length - 1 - n
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
	if s.altered.Load() {
		n++ // shows in the first bytes
	}
	_ = s.writeContent(countingWriter{w, &s.sent}, int(n), 0) // the client reports the error
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

// rememberFolder adds the folder of all assets of remember, if there is only one.
func (s *service) rememberFolder() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folders = append(s.folders, folder{ID: s.folderID(0), Name: path.Dir(s.key(0)), CategoryID: theCategory})
}
