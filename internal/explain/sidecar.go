package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/event"
	"assetferry/internal/metadata"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A sidecar is a file beside objects that describes them. It has no asset of its own.
type sidecar struct {
	state.Sidecar
	owners []History
}

// loadSidecar finds out whether a key is that of a sidecar, and what it describes; nil if
// it is none.
func (e *Explainer) loadSidecar(ctx context.Context, p state.Pair, key sources.Key) (*sidecar, error) {
	folded, ok := metadata.FoldSidecar(string(key))
	if !ok {
		return nil, nil
	}
	all, err := e.Store.SidecarsAmong(ctx, p.ID, []string{folded})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(c state.Sidecar) bool { return c.Key == key })
	if at < 0 {
		return nil, nil
	}
	s := &sidecar{Sidecar: all[at]}
	runs, err := e.Store.RunsOf(ctx, p.ID, 1)
	if err != nil || len(runs) == 0 {
		return s, err
	}
	owner, _ := metadata.OwnerOf(string(key))
	var begins []string
	if owner.Begin != "" {
		begins = []string{owner.Begin}
	}
	owners, err := e.Store.SidecarOwners(ctx, runs[0].Num, p.ID, owner.Keys, begins)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if !owner.Describes(string(o.Key)) {
			continue
		}
		h, err := e.load(ctx, p, o.Key)
		if err != nil {
			return nil, err
		}
		s.owners = append(s.owners, h)
	}
	return s, nil
}

// addSidecar says what a sidecar describes, and what it says of that as far as the
// journal keeps it.
func (p *Page) addSidecar(of History) {
	s := of.sidecar
	if s == nil {
		return
	}
	if len(of.stages) == 0 { // else these are told
		p.event("item", event.Item{Key: string(s.Key), Action: string(state.Skip), State: string(state.ItemSkipped), Reason: string(migrate.ReasonSidecar)})
	}
	p.line("Sidecar", fmt.Sprintf("%s, %s", ui.Bytes(s.Size), fingerprintOf(s.Time, s.VersionTag)))
	for _, h := range s.owners {
		p.line("Describes", string(h.key))
		if why := notTaken(h, string(s.Key)); why != "" {
			p.line("", why)
			continue
		}
		found, err := metadata.DecodeFound(h.described.Found)
		if err != nil {
			p.line("", err.Error())
			continue
		}
		says := found[metadata.FromSidecar]
		for _, name := range slices.Sorted(maps.Keys(says)) {
			p.line("", fmt.Sprintf("%s: %s", name, shortened(strings.Join(says[name], ", "))))
		}
	}
}

// notTaken is why the last run that looked at an object took nothing from its sidecar;
// empty if it did.
func notTaken(h History, sidecar string) string {
	if len(h.stages) == 0 {
		return ""
	}
	if last := h.stages[len(h.stages)-1].Item; strings.Contains(last.Error, sidecar+" "+migrate.RemarkBadSidecar) {
		return last.Error
	}
	return ""
}
