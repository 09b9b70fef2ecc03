package cli

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

// A sidecar is a file beside objects that describes them. It has no asset of its own.
type sidecar struct {
	state.Sidecar
	owners []history
}

// recallSidecar finds out whether a key is that of a sidecar, and what it describes; nil if
// it is none.
func (e *explainer) recallSidecar(ctx context.Context, p state.Pair, key string) (*sidecar, error) {
	folded, ok := metadata.FoldSidecar(key)
	if !ok {
		return nil, nil
	}
	all, err := e.journal.SidecarsAmong(ctx, p.ID, []string{folded})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(c state.Sidecar) bool { return string(c.Key) == key })
	if at < 0 {
		return nil, nil
	}
	s := &sidecar{Sidecar: all[at]}
	runs, err := e.journal.RunsOf(ctx, p.ID, 1)
	if err != nil || len(runs) == 0 {
		return s, err
	}
	owner, _ := metadata.OwnerOf(key)
	var begins []string
	if owner.Begin != "" {
		begins = []string{owner.Begin}
	}
	owners, err := e.journal.SidecarOwners(ctx, runs[0].Num, p.ID, owner.Keys, begins)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if !owner.Describes(string(o.Key)) {
			continue
		}
		h, err := e.recall(ctx, p, string(o.Key))
		if err != nil {
			return nil, err
		}
		s.owners = append(s.owners, h)
	}
	return s, nil
}

// tellSidecar tells what a sidecar describes, and what it says of that as far as the
// journal keeps it.
func (e *explainer) tellSidecar(of history) {
	s := of.sidecar
	if s == nil {
		return
	}
	if len(of.stages) == 0 { // else these are told
		e.out.Event("item", event.Item{Key: string(s.Key), Action: string(state.Skip), State: string(state.ItemSkipped), Reason: string(migrate.ReasonSidecar)})
	}
	e.line("Sidecar", fmt.Sprintf("%s, %s", ui.Bytes(s.Size), fingerprintOf(s.Time, s.VersionTag)))
	for _, h := range s.owners {
		e.line("Describes", h.key)
		if why := notTaken(h, string(s.Key)); why != "" {
			e.line("", why)
			continue
		}
		found, err := metadata.DecodeFound(h.described.Found)
		if err != nil {
			e.line("", err.Error())
			continue
		}
		says := found[metadata.FromSidecar]
		for _, name := range slices.Sorted(maps.Keys(says)) {
			e.line("", fmt.Sprintf("%s: %s", name, shortened(strings.Join(says[name], ", "))))
		}
	}
}

// notTaken is why the last run that looked at an object took nothing from its sidecar;
// empty if it did.
func notTaken(h history, sidecar string) string {
	if len(h.stages) == 0 {
		return ""
	}
	if last := h.stages[len(h.stages)-1].Item; strings.Contains(last.Error, sidecar+" "+migrate.NotTaken) {
		return last.Error
	}
	return ""
}
