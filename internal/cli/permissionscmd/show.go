package permissionscmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/permissions"
	"assetferry/internal/ui"
)

// A result shows a plan, or its outcome.
type result struct {
	f       *command.Factory
	dest    *command.Destination
	table   *wanted
	plan    *permissions.Plan
	planned bool
}

// toAdd returns the numbers of groups and permissions that are added, or would be.
func (r *result) toAdd() (groups, added int64) {
	for _, g := range r.plan.Groups {
		if g.New && (r.planned || g.ID != "") {
			groups++
		}
	}
	state := permissions.Done
	if r.planned {
		state = permissions.Planned
	}
	return groups, int64(r.plan.Count(state))
}

// show prints the entries by their state.
func (r *result) show() {
	out := r.f.Out
	r.events()
	out.Printf("Table        %s: %s, %s", ui.Sanitize(r.table.from), ui.Counted(int64(r.table.Groups()), "group"), ui.Counted(int64(r.table.Count()), "permission"))
	out.Printf("Table hash   %s", r.table.Hash())
	r.showGroups()
	for _, part := range []struct {
		state permissions.State
		title string
	}{
		{permissions.Planned, "To be added"}, {permissions.Done, "Added"}, {permissions.Failed, "Failed"}, {permissions.Unconfirmed, "Unconfirmed"},
		{permissions.Skipped, "Skipped"}, {permissions.Beyond, "Not in the table (unchanged)"},
	} {
		r.showEntries(part.title, r.plan.Of(part.state))
	}
	if out.Verbose() {
		r.showEntries("Unchanged", r.plan.Of(permissions.Unchanged))
	}
	r.showWarnings()
}

// showGroups lists new groups. Tokens need their IDs.
func (r *result) showGroups() {
	var rows [][]string
	for _, g := range r.plan.Groups {
		if !g.New && !r.f.Out.Verbose() {
			continue
		}
		id := g.ID
		if id == "" {
			id = "(new)"
		}
		rows = append(rows, []string{g.Name, id})
	}
	if len(rows) > 0 {
		r.f.Out.Printf("\n%s", ui.Table([]ui.Column{{Title: "Group"}, {Title: "ID for tokens"}}, rows))
	}
}

func (r *result) showEntries(title string, all []*permissions.Entry) {
	if len(all) == 0 {
		return
	}
	rows := make([][]string, len(all))
	for i, e := range all {
		text := short(e.Permissions)
		switch {
		case e.Err != nil:
			text += ": " + e.Err.Error()
		case e.Reason != "":
			text = why(e)
		}
		rows[i] = []string{e.Group, category(e), text}
	}
	r.f.Out.Printf("\n%s:\n%s", title, ui.Table([]ui.Column{{Title: "Group"}, {Title: "Category"}, {Title: "Permissions", Wrap: true}}, rows))
}

func category(e *permissions.Entry) string {
	if e.CategoryID == "" && e.Category == permissions.All {
		return "* (all)"
	}
	return e.Category
}

// short returns permissions for people.
func short(all []assets.Permission) string {
	if len(all) == len(permissions.Known()) {
		return fmt.Sprintf("all %d permissions", len(all))
	}
	return strings.Join(codes(all), " ")
}

func codes(all []assets.Permission) []string {
	words := make([]string, len(all))
	for i, p := range all {
		words[i] = string(p)
	}
	return words
}

// why returns the reason of a skipped entry as a sentence.
func why(e *permissions.Entry) string {
	switch e.Reason {
	case permissions.NoCategory:
		return "the destination has no such category"
	case permissions.AmbiguousCategory:
		return "several categories have this name; write one of the IDs instead: " + strings.Join(e.IDs, ", ")
	case permissions.AmbiguousGroup:
		return "several groups have this name; write one of the IDs instead: " + strings.Join(e.IDs, ", ")
	}
	return "another group has this name in another case; write its name or ID: " + strings.Join(e.IDs, ", ")
}

// showWarnings prints what makes permissions pointless, and what FROM has and the table has not.
func (r *result) showWarnings() {
	if names := r.plan.OpenToAll; len(names) > 0 {
		r.f.Out.Notef("Warning: tokens without groups can access %s, because the default group %q has the permission category:access. Limit it in the user interface of the service if other users must not see them.",
			listed(names), r.plan.DefaultGroup)
	}
	for _, e := range r.plan.Blind {
		r.f.Out.Notef("Warning: the permissions of group %q in category %q have no effect without category:access.", e.Group, e.Category)
	}
	if n := r.plan.Others; n > 0 {
		r.f.Out.Notef("%s not in the table.", ui.CountedAs(int64(n), "group at the destination is", "groups at the destination are"))
	}
	out := r.table.omitted
	if out.DefaultGroup != "" {
		r.f.Out.Notef("Omitted: the default group %q of the source. To copy its permissions, add rows to a table.", out.DefaultGroup)
	}
	if out.Deleted > 0 {
		r.f.Out.Notef("Omitted: %s in categories that were deleted at the source.", ui.Counted(int64(out.Deleted), "permission"))
	}
	for _, p := range slices.Sorted(maps.Keys(out.Unknown)) {
		r.f.Out.Notef("Omitted: the unknown permission %s in %s.", p, ui.CountedAs(int64(out.Unknown[p]), "category", "categories"))
	}
}

// listed names the categories, at most three of them.
func listed(names []string) string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		if name == permissions.All {
			return "all categories"
		}
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - len(quoted); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// events writes the lines of --json.
func (r *result) events() {
	for _, g := range r.plan.Groups {
		line := event.Group{ID: g.ID, Name: g.Name, State: string(permissions.Unchanged)}
		if g.New {
			line.State = string(permissions.Planned)
			if g.ID != "" {
				line.State = string(permissions.Done)
			}
		}
		r.f.Out.Event("group", line)
	}
	for _, e := range r.plan.Entries {
		line := event.Permission{
			Group: e.Group, GroupID: e.GroupID, Category: e.Category, CategoryID: e.CategoryID, Permissions: codes(e.Permissions), State: string(e.State), Reason: string(e.Reason),
		}
		if e.Err != nil {
			line.Error = e.Err.Error()
		}
		r.f.Out.Event("permission", line)
	}
}

// summary prints the numbers in one sentence, and completes the last line of --json.
func (r *result) summary() {
	groups, added := r.toAdd()
	verb := "added"
	if r.planned {
		verb = "to be added"
	}
	p := r.plan
	text := fmt.Sprintf("%s %s", counted(groups, added), verb)
	if groups+added == 0 {
		text = map[bool]string{true: "Nothing to add", false: "Nothing was added"}[r.planned]
	}
	text += fmt.Sprintf("; %s unchanged, %s not in the table", ui.Count(int64(p.Count(permissions.Unchanged))), ui.Count(int64(p.Count(permissions.Beyond))))
	for _, s := range []permissions.State{permissions.Skipped, permissions.Failed, permissions.Unconfirmed} {
		if n := p.Count(s); n > 0 {
			text += fmt.Sprintf(", %s %s", ui.Count(int64(n)), s)
		}
	}
	r.f.Out.Printf("\n%s.", text)
	r.f.Summary.States = event.Counts{}
	for _, e := range p.Entries {
		r.f.Summary.States[string(e.State)] += int64(len(e.Permissions))
	}
	line := event.GroupPermissions{TableHash: r.table.Hash(), GroupsAdded: groups, OpenToAll: p.OpenToAll}
	for _, e := range p.Blind {
		line.NoAccess += int64(len(e.Permissions))
	}
	if len(p.OpenToAll) > 0 {
		line.DefaultGroup = p.DefaultGroup
	}
	r.f.Summary.Permissions = &line
}

// counted returns the numbers of groups and permissions, without groups if there are none.
func counted(groups, added int64) string {
	text := ui.Counted(added, "permission")
	if groups > 0 {
		text = ui.Counted(groups, "group") + " and " + text
	}
	return text
}

// outcome returns the error of the command; err ended it early, if any.
func (r *result) outcome(err error) error {
	again := "repeat the command: it checks first, and adds only what is missing"
	different, _ := errors.AsType[*permissions.DifferenceError](err)
	switch {
	case different != nil:
		return exit.With(exit.CodeDifference, err, "compare the table with the destination:\n  "+r.f.Again("permissions plan", []string{r.table.from}))
	case errors.Is(err, assets.ErrUnconfirmed):
		return exit.With(exit.CodeItems, err, again)
	case err != nil:
		return err
	case len(r.plan.Of(permissions.Skipped))+len(r.plan.Of(permissions.Failed)) > 0:
		return exit.Said(exit.CodeItems)
	}
	return nil
}
