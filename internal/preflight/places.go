package preflight

import (
	"strings"

	"assetferry/state"
)

// publicFiles is said plainly, because a mistake here publishes files.
var publicFiles = definition{id: "public", severity: Warning,
	title:  "would be PUBLIC, for everybody who has the address: the category is not private",
	remedy: "--category or --category-by; or who makes the category private first"}

var (
	hiddenFolders = definition{id: "hidden-folders", severity: Loss, unit: "folder",
		title:  "cannot be read, so nobody knows what is in there",
		remedy: "who may grant access to the source; or --exclude"}
	emptyFiles = definition{id: "empty", severity: Warning,
		title:  "empty",
		remedy: "--exclude; or who can tell whether the source is damaged"}
)

// doubledNames is what shows of another journal that is used for the same destination.
var doubledNames = definition{id: "doubled-names", severity: Warning, unit: "name",
	title:  "more than once at the destination, in the same place and with the same size; another state database may be at work on it",
	remedy: "who runs the other one: one state database for each destination; assetferry verify lists the further assets"}

// Doubled is the finding that names are at the destination more than once, if any are.
func Doubled(names int64) []Finding {
	if names == 0 {
		return nil
	}
	return []Finding{(&sum{definition: doubledNames, objects: names}).finding()}
}

// places counts what comes from each folder at the top of the source. What such a
// folder holds comes in a row, so that only one of them is counted at a time.
type places struct {
	current, none Part // none: what is in no folder
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
		p.none.Name = "(in no folder)"
		p.top.offer(p.none)
		p.none = Part{}
	}
	return p.top.best
}
