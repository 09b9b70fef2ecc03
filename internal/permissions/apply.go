package permissions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
)

// A Service is a workspace that can be changed. It has no method that changes or deletes a group
// or a grant.
type Service interface {
	Reader
	CreateGroup(ctx context.Context, name string) (id string, err error)
	CreateGrant(context.Context, assets.Grant) (id string, err error)
}

// Preview compares a table with a workspace.
func Preview(ctx context.Context, r Reader, t Table) (*Plan, error) {
	now, err := Read(ctx, r, t.concerns)
	if err != nil {
		return nil, err
	}
	return Compare(t, now), nil
}

// Adds reports whether a plan adds anything.
func (p *Plan) Adds() bool {
	for _, g := range p.Groups {
		if g.ID == "" {
			return true
		}
	}
	return len(p.Of(Planned)) > 0
}

// A DifferenceError means that the workspace does not have what Apply sent, or has permissions
// that Apply did not send.
type DifferenceError struct{ Lines []string }

func (e *DifferenceError) Error() string {
	return "the permissions at the destination differ from the expected ones: " + strings.Join(e.Lines, "; ")
}

// Apply adds what a workspace lacks. It reads the workspace first, so it can be repeated after any
// interruption, and once more at the end to verify the result. The plan has the results so far,
// also with an error; it is never nil. An entry that the service refuses does not stop the others.
func Apply(ctx context.Context, s Service, t Table) (*Plan, error) {
	before, err := Read(ctx, s, t.concerns)
	if err != nil {
		return new(Plan), err
	}
	p := Compare(t, before)
	if !p.Adds() {
		return p, nil
	}
	if err := p.createGroups(ctx, s); err != nil {
		return p, err
	}
	for _, b := range p.batches() {
		if err := grant(ctx, s, b); err != nil {
			return p, err
		}
	}
	after, err := Read(ctx, s, t.concerns)
	if err != nil {
		return p, fmt.Errorf("verify the permissions: %w", err)
	}
	return p, p.verify(t, before, after)
}

// createGroups creates the missing groups. After a lost answer it looks for the group, because a
// second group with the name would be a duplicate.
func (p *Plan) createGroups(ctx context.Context, s Service) error {
	for _, g := range p.Groups {
		if g.ID != "" {
			continue
		}
		id, err := s.CreateGroup(ctx, g.Name)
		if errors.Is(err, assets.ErrUnconfirmed) {
			id, err = lookUp(ctx, s, g.Name, err)
		}
		if err != nil {
			return err
		}
		g.ID = id
		for _, e := range p.Entries {
			if e.State == Planned && e.GroupID == "" && e.Group == g.Name {
				e.GroupID = id
			}
		}
	}
	return nil
}

// lookUp returns the ID of a group that may have been created, or the error of its creation.
func lookUp(ctx context.Context, s Service, name string, lost error) (string, error) {
	all, err := s.Groups(ctx)
	if err != nil {
		return "", errors.Join(lost, err)
	}
	for _, g := range all {
		if isGroup(g, name) {
			return g.ID, nil
		}
	}
	return "", lost
}

// batches groups the planned entries of a group with equal permissions: they fit into one grant. A
// grant for all categories has only one entry.
func (p *Plan) batches() (all [][]*Entry) {
	at := map[string]int{}
	for _, e := range p.Of(Planned) {
		key := fmt.Sprint(e.GroupID, " ", e.CategoryID == "", e.Permissions)
		n, known := at[key]
		if !known {
			n = len(all)
			at[key] = n
			all = append(all, nil)
		}
		all[n] = append(all[n], e)
	}
	return all
}

// grant sends a grant for the entries of a batch.
func grant(ctx context.Context, s Service, batch []*Entry) error {
	first := batch[0]
	g := assets.Grant{GroupID: first.GroupID, Categories: []string{}, Allowed: map[assets.Permission]bool{}}
	for _, known := range Known() { // all of them, as the user interface of the service sends them
		g.Allowed[known] = slices.Contains(first.Permissions, known)
	}
	for _, e := range batch {
		if e.CategoryID != "" {
			g.Categories = append(g.Categories, e.CategoryID)
		}
	}
	if first.CategoryID != "" && len(g.Categories) != len(batch) { // an empty list would be all categories
		return fmt.Errorf("grant permissions to group %q: a category has no ID", first.Group)
	}
	_, err := s.CreateGrant(ctx, g)
	if errors.Is(err, assets.ErrUnconfirmed) {
		err = lookAgain(ctx, s, batch, err)
	}
	state := Done
	switch {
	case errors.Is(err, assets.ErrUnconfirmed):
		state = Unconfirmed
	case err != nil:
		state = Failed
	}
	for _, e := range batch {
		e.State, e.Err = state, err
	}
	if refuses(err) {
		return nil
	}
	return err
}

// lookAgain returns nil if the entries of a batch exist, or else the error of their creation.
func lookAgain(ctx context.Context, s Service, batch []*Entry, lost error) error {
	grants, err := grantsOf(ctx, s, assets.Group{ID: batch[0].GroupID, Name: batch[0].Group})
	if err != nil {
		return errors.Join(lost, err)
	}
	now := ownedBy(grants)
	for _, e := range batch {
		if _, lack := now.split(e.CategoryID, e.Permissions); len(lack) > 0 {
			return lost
		}
	}
	return nil
}

// refuses reports whether an error concerns only one grant.
func refuses(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	return ok && e.Class() == retry.Permanent && !e.Unconfirmed
}

// verify compares the workspace at the end with what it had and what was sent.
func (p *Plan) verify(t Table, before, after Current) error {
	var e DifferenceError
	end := Compare(t, after)
	failed := ownedIn(p.Of(Failed))
	for _, missing := range end.Of(Planned) {
		if failed[missing.place()] == nil {
			e.Lines = append(e.Lines, "missing: "+missing.String())
		}
	}
	for _, group := range before.Groups {
		for _, id := range altered(before.Grants[group.ID], after.Grants[group.ID]) {
			e.Lines = append(e.Lines, fmt.Sprintf("another user changed or removed permission %s of the group %q", id, group.Name))
		}
	}
	was := ownedIn(Compare(t, before).Of(Beyond))
	for _, more := range end.Of(Beyond) {
		for _, one := range more.Permissions {
			if !was[more.place()][one] {
				e.Lines = append(e.Lines, "beyond the table: "+more.String())
				break
			}
		}
	}
	if len(e.Lines) > 0 {
		return &e
	}
	return nil
}

// place identifies the group and the category of an entry.
func (e *Entry) place() string { return e.GroupID + " " + e.CategoryID }

// ownedIn returns the permissions of entries by place.
func ownedIn(all []*Entry) owned {
	o := owned{}
	for _, e := range all {
		o.add(e.place(), e.Permissions)
	}
	return o
}

// altered returns the IDs of grants that changed or do not exist any more.
func altered(before, after []assets.Grant) (ids []string) {
	now := map[string]string{}
	for i := range after {
		now[after[i].ID] = content(&after[i])
	}
	for i := range before {
		if now[before[i].ID] != content(&before[i]) {
			ids = append(ids, before[i].ID)
		}
	}
	return ids
}

// content returns the categories and permissions of a grant as text.
func content(g *assets.Grant) string {
	allowed := set{}
	for p, ok := range g.Allowed {
		if ok {
			allowed[p] = true
		}
	}
	return fmt.Sprint(slices.Sorted(slices.Values(g.Categories)), allowed.sorted())
}

// String returns the entry for messages.
func (e *Entry) String() string {
	return fmt.Sprintf("group %q, category %q: %s", e.Group, e.Category, words(e.Permissions))
}
