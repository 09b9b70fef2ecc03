package permissions

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
func Preview(ctx context.Context, r Reader, t Table) (Plan, error) {
	now, err := Read(ctx, r, t.concerns)
	if err != nil {
		return Plan{}, err
	}
	return Compare(t, now), nil
}

// Adds reports whether a plan adds anything.
func (p Plan) Adds() bool {
	return len(p.Of(Planned)) > 0 || slices.ContainsFunc(p.Groups, func(g Group) bool { return g.ID == "" })
}

// A DifferenceError means that the workspace does not have what Apply sent, or has permissions
// that Apply did not send.
type DifferenceError struct{ Lines []string }

func (e *DifferenceError) Error() string {
	return "the permissions at the destination differ from the expected ones: " + strings.Join(e.Lines, "; ")
}

// Apply adds what a workspace lacks. It reads the workspace first, so it can be repeated after any
// interruption, and once more at the end to verify the result. The plan has the results so far,
// also with an error. An entry that the service refuses does not stop the others.
func Apply(ctx context.Context, s Service, t Table) (Plan, error) {
	before, err := Read(ctx, s, t.concerns)
	if err != nil {
		return Plan{}, err
	}
	p := Compare(t, before)
	if !p.Adds() {
		return p, nil
	}
	if err := p.createGroups(ctx, s); err != nil {
		return p, err
	}
	for _, b := range p.batches() {
		if err := p.grant(ctx, s, b); err != nil {
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
	for i, g := range p.Groups {
		if g.ID != "" {
			continue
		}
		id, err := s.CreateGroup(ctx, g.Name)
		if errors.Is(err, assets.ErrUnconfirmed) {
			id, err = p.lookUp(ctx, s, g.Name, err)
		}
		if err != nil {
			return err
		}
		p.Groups[i].ID = id
		for n, e := range p.Entries {
			if e.State == Planned && e.GroupID == "" && e.Group == g.Name {
				p.Entries[n].GroupID = id
			}
		}
	}
	return nil
}

// lookUp returns the ID of a group that may have been created, or the error of its creation.
func (*Plan) lookUp(ctx context.Context, s Service, name string, lost error) (string, error) {
	all, err := s.Groups(ctx)
	if err != nil {
		return "", errors.Join(lost, err)
	}
	i := slices.IndexFunc(all, func(g assets.Group) bool { return isGroup(g, name) })
	if i < 0 {
		return "", lost
	}
	return all[i].ID, nil
}

// batches groups the planned entries of a group with equal permissions: they fit into one grant. A
// grant for all categories has only one entry.
func (p *Plan) batches() (all [][]int) {
	key := func(i int) string {
		e := p.Entries[i]
		return fmt.Sprint(e.GroupID, " ", e.CategoryID == "", e.Permissions)
	}
	at := map[string]int{}
	for i, e := range p.Entries {
		if e.State != Planned {
			continue
		}
		n, known := at[key(i)]
		if !known {
			n = len(all)
			at[key(i)] = n
			all = append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}

// grant sends a grant for the entries of a batch.
func (p *Plan) grant(ctx context.Context, s Service, batch []int) error {
	first := p.Entries[batch[0]]
	g := assets.Grant{GroupID: first.GroupID, Categories: []string{}, Allowed: map[assets.Permission]bool{}}
	for _, known := range Known() { // all of them, as the user interface of the service sends them
		g.Allowed[known] = slices.Contains(first.Permissions, known)
	}
	for _, i := range batch {
		if e := p.Entries[i]; e.CategoryID != "" {
			g.Categories = append(g.Categories, e.CategoryID)
		}
	}
	if first.CategoryID != "" && len(g.Categories) != len(batch) { // an empty list would be all categories
		return fmt.Errorf("grant permissions to group %q: a category has no ID", first.Group)
	}
	_, err := s.CreateGrant(ctx, g)
	if errors.Is(err, assets.ErrUnconfirmed) {
		err = p.lookAgain(ctx, s, batch, err)
	}
	state := Done
	switch {
	case errors.Is(err, assets.ErrUnconfirmed):
		state = Unconfirmed
	case err != nil:
		state = Failed
	}
	for _, i := range batch {
		p.Entries[i].State, p.Entries[i].Err = state, err
	}
	if refuses(err) {
		return nil
	}
	return err
}

// lookAgain returns nil if the entries of a batch exist, or else the error of their creation.
func (p *Plan) lookAgain(ctx context.Context, s Service, batch []int, lost error) error {
	first := p.Entries[batch[0]]
	grants, err := grantsOf(ctx, s, assets.Group{ID: first.GroupID, Name: first.Group})
	if err != nil {
		return errors.Join(lost, err)
	}
	now := ownedBy(grants)
	for _, i := range batch {
		if _, lack := now.split(p.Entries[i].CategoryID, p.Entries[i].Permissions); len(lack) > 0 {
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
	for _, missing := range end.Of(Planned) {
		tried := slices.ContainsFunc(p.Entries, func(one Entry) bool {
			return one.GroupID == missing.GroupID && one.CategoryID == missing.CategoryID && one.State == Failed
		})
		if !tried {
			e.Lines = append(e.Lines, "missing: "+missing.String())
		}
	}
	for _, group := range before.Groups {
		for _, was := range before.Grants[group.ID] {
			if !slices.ContainsFunc(after.Grants[group.ID], func(is assets.Grant) bool { return equal(was, is) }) {
				e.Lines = append(e.Lines, fmt.Sprintf("another user changed or removed permission %s of the group %q", was.ID, group.Name))
			}
		}
	}
	was := Compare(t, before).Of(Beyond)
	for _, more := range end.Of(Beyond) {
		for _, one := range was {
			if one.GroupID == more.GroupID && one.CategoryID == more.CategoryID {
				more.Permissions = slices.DeleteFunc(slices.Clone(more.Permissions), func(p assets.Permission) bool { return slices.Contains(one.Permissions, p) })
			}
		}
		if len(more.Permissions) > 0 {
			e.Lines = append(e.Lines, "beyond the table: "+more.String())
		}
	}
	if len(e.Lines) > 0 {
		return &e
	}
	return nil
}

// equal reports whether two grants are the same and have the same content.
func equal(a, b assets.Grant) bool {
	return a.ID == b.ID && slices.Equal(slices.Sorted(slices.Values(a.Categories)), slices.Sorted(slices.Values(b.Categories))) &&
		maps.Equal(allowed(a), allowed(b))
}

// allowed returns the permissions of a grant without those that it does not allow.
func allowed(g assets.Grant) set {
	s := set{}
	for p, ok := range g.Allowed {
		if ok {
			s.add(p)
		}
	}
	return s
}

// String returns the entry for messages.
func (e Entry) String() string {
	words := make([]string, len(e.Permissions))
	for i, p := range e.Permissions {
		words[i] = string(p)
	}
	return fmt.Sprintf("group %q, category %q: %s", e.Group, e.Category, strings.Join(words, " "))
}
