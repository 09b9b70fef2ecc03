package preflight

import (
	"strings"

	"assetferry/state"
)

// publicFiles has a word in capitals, because an oversight here publishes files.
var publicFiles = definition{id: "public", severity: Warning,
	title:  "would be PUBLIC, readable by anyone with the URL",
	remedy: "use --category or --category-by, or make the category private first"}

var (
	hiddenFolders = definition{id: "hidden_folders", severity: Loss, unit: "folder",
		title:  "unreadable; the objects inside are not listed",
		remedy: "make the source readable, or use --exclude"}
	emptyFiles = definition{id: "empty", severity: Warning,
		title:  "empty",
		remedy: "use --exclude, or check the source for damage"}
)

// doubledNames is a sign of another state database for the same destination.
var doubledNames = definition{id: "duplicate_names", severity: Warning, unit: "name",
	title:  "shared by assets with the same folder and size; another state database may use the destination",
	remedy: "use one state database for each destination. To list the extra assets:\n  assetferry verify"}

// Doubled returns the finding about duplicate names at the destination, if there are any.
func Doubled(names int64) []Finding {
	if names == 0 {
		return nil
	}
	return []Finding{(&sum{definition: doubledNames, objects: names}).finding()}
}

// places counts objects by the top-level folder of the source. Keys are in order, so that only
// one folder is counted at a time.
type places struct {
	current, none Part // none: objects outside all folders
	top           top
}

func (p *places) add(i *state.Item) {
	at := &p.none
	if folder, _, inside := strings.Cut(string(i.Key), "/"); inside {
		if p.current.Name != folder {
			p.close()
			p.current = Part{Name: folder}
		}
		at = &p.current
	}
	at.Objects++
	at.Bytes += i.Size
}

func (p *places) close() {
	if p.current.Objects > 0 {
		p.current.Name += "/"
		p.top.offer(p.current)
	}
	p.current = Part{}
}

func (p *places) largest() []Part {
	p.close()
	if p.none.Objects > 0 {
		p.none.Name = "(top level)"
		p.top.offer(p.none)
		p.none = Part{}
	}
	return p.top.best
}
