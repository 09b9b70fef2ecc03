package records

import (
	"encoding/json"

	"assetferry/internal/sandbox/standin"
)

// A Grant is a permission of a group in the terms of the service: rights in some categories, or
// in all if it names none.
type Grant struct {
	ID, Group  string
	Categories []string
	Granted    map[Permission]bool
}

type GrantView struct {
	ID              string              `json:"id"`
	GroupID         string              `json:"groupId"`
	CategoriesIDs   []string            `json:"categoriesIds"`
	PermissionsList map[Permission]bool `json:"permissionsList"`
}

func (g Grant) View() GrantView {
	return GrantView{ID: g.ID, GroupID: g.Group, CategoriesIDs: g.Categories, PermissionsList: g.Granted}
}

// Everything returns the initial grant of a default group.
func Everything(group string) Grant {
	g := Grant{ID: standin.NewUUID(), Group: group, Categories: []string{}, Granted: make(map[Permission]bool)}
	for _, p := range Permissions() {
		g.Granted[p] = true
	}
	return g
}

func (g Grant) columns() (categories, granted string, err error) {
	c, err := json.Marshal(g.Categories)
	if err != nil {
		return "", "", err
	}
	p, err := json.Marshal(g.Granted)
	return string(c), string(p), err
}

// A Group gives permissions to users whose tokens name it. Each Workspace has a default group
// for tokens that name none.
type Group struct {
	ID, Name, Workspace string
	Default             bool
}

type GroupView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	IsDefault bool   `json:"isDefault"`
}

func (g Group) View() GroupView { return GroupView{ID: g.ID, Name: g.Name, IsDefault: g.Default} }
