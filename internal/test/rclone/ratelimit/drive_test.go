//go:build rclone

package ratelimit

import (
	"encoding/hex"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	driveHost   = "www.googleapis.com"
	driveRoot   = "the-root"
	driveFolder = "application/vnd.google-apps.folder"
)

// A drive is the part of the API of Google Drive that reads a library. The ID of a folder is its name,
// that of a file its number.
type drive struct{ objects []object }

func (d *drive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, isFile := strings.CutPrefix(r.URL.Path, "/drive/v3/files/")
	n, err := strconv.Atoi(id)
	switch {
	case r.URL.Path == "/drive/v3/files":
		answer(w, map[string]any{"kind": "drive#fileList", "files": d.search(r.URL.Query().Get("q"))})
	case !isFile || err != nil || n < 0 || n >= len(d.objects):
		refuse(w, http.StatusNotFound, "notFound", "File not found: "+id)
	case r.URL.Query().Get("alt") == "media":
		http.ServeContent(w, r, "", uploaded, strings.NewReader(d.objects[n].content))
	default:
		answer(w, d.file(n))
	}
}

var (
	parents = regexp.MustCompile(`'([^']*)' in parents`)
	named   = regexp.MustCompile(`\(name='([^']*)'`)
)

// search returns what matches a query of rclone: folders and files in some folders, maybe of one name.
func (d *drive) search(query string) []any {
	name := ""
	if m := named.FindStringSubmatch(query); m != nil {
		name = m[1]
	}
	found := []any{}
	for _, m := range parents.FindAllStringSubmatch(query, -1) {
		for n, o := range d.objects {
			folder, base := filepath.Split(o.name)
			folder = strings.TrimSuffix(folder, "/")
			isFirst := n == 0 || !strings.HasPrefix(d.objects[n-1].name, folder+"/")
			switch {
			case m[1] == driveRoot && isFirst && (name == "" || name == folder) && !strings.Contains(query, "mimeType!='"+driveFolder):
				found = append(found, map[string]any{"id": folder, "name": folder, "mimeType": driveFolder, "parents": []string{driveRoot}, "modifiedTime": uploaded, "createdTime": uploaded})
			case m[1] == folder && (name == "" || name == base) && !strings.Contains(query, "mimeType='"+driveFolder):
				found = append(found, d.file(n))
			}
		}
	}
	return found
}

func (d *drive) file(n int) map[string]any {
	o := d.objects[n]
	folder, name := filepath.Split(o.name)
	return map[string]any{
		"id": strconv.Itoa(n), "name": name, "mimeType": "text/plain", "parents": []string{strings.TrimSuffix(folder, "/")}, "size": strconv.Itoa(len(o.content)),
		"md5Checksum": hex.EncodeToString(o.sum[:]), "modifiedTime": uploaded, "createdTime": uploaded, "description": "Description of " + name,
	}
}

// driveConfig is a remote with a token that needs no renewal.
const driveConfig = `[drive]
type = drive
scope = drive.readonly
root_folder_id = ` + driveRoot + `
token = {"access_token":"an-access-token","token_type":"Bearer","expiry":"2100-01-01T00:00:00Z"}
`
