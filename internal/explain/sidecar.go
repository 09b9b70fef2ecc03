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
	"assetferry/state"
)

// A sidecar is a file with metadata of other objects. It has no asset.
type sidecar struct {
	state.Sidecar
	owners []History
}

// loadSidecar returns the sidecar of a history and the objects that it belongs to; nil if there is
// none.
func (e *Explainer) loadSidecar(ctx context.Context, of History) (*sidecar, error) {
	p, key := of.pair, of.key
	recorded, err := e.recordedSidecar(ctx, of)
	if recorded == nil || err != nil {
		return nil, err
	}
	s := &sidecar{Sidecar: *recorded}
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

// recordedSidecar returns a sidecar as it was listed last; nil if there is none. Before the first
// plan is carried out, only the item records it.
func (e *Explainer) recordedSidecar(ctx context.Context, of History) (*state.Sidecar, error) {
	folded, ok := metadata.FoldSidecar(string(of.key))
	if !ok {
		return nil, nil
	}
	all, err := e.Store.SidecarsAmong(ctx, of.pair.ID, []string{folded})
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(all, func(c state.Sidecar) bool { return c.Key == of.key }); at >= 0 {
		return &all[at], nil
	}
	if len(of.stages) == 0 {
		return nil, nil
	}
	last := of.stages[len(of.stages)-1].Item
	if last.Reason != string(migrate.ReasonSidecar) {
		return nil, nil
	}
	return &state.Sidecar{Object: last.Object, Folded: folded}, nil
}

// addSidecar lists the objects that a sidecar belongs to, and its values as far as they are stored.
func (p *Page) addSidecar(of History) {
	s := of.sidecar
	if s == nil {
		return
	}
	if len(of.stages) == 0 { // otherwise the runs have events
		p.event("item", event.Item{Key: string(s.Key), Action: string(state.Skip), State: string(state.ItemSkipped), Reason: string(migrate.ReasonSidecar), Message: migrate.ReasonSidecar.Text()})
	}
	p.line("Sidecar", fmt.Sprintf("%s, %s", ui.Bytes(s.Size), fingerprintOf(s.Time, s.VersionTag)))
	for _, h := range s.owners {
		p.line("Belongs to", string(h.key))
		if why := notTaken(h, string(s.Key)); why != "" {
			p.line("", why)
			continue
		}
		found, err := metadata.DecodeFound(h.described.Found)
		if err != nil {
			p.line("", err.Error())
			continue
		}
		values := found[metadata.FromSidecar]
		for _, name := range slices.Sorted(maps.Keys(values)) {
			p.line("", fmt.Sprintf("%s: %s", name, shortened(strings.Join(values[name], ", "))))
		}
	}
}

// notTaken returns why the last run of an object did not use its sidecar; empty if it did.
func notTaken(h History, sidecar string) string {
	if len(h.stages) == 0 {
		return ""
	}
	if last := h.stages[len(h.stages)-1].Item; strings.Contains(last.Error, sidecar+" "+migrate.RemarkBadSidecar) {
		return last.Error
	}
	return ""
}
