package records

import (
	"slices"

	"assetferry/internal/sandbox/naming"
)

// An EnvironmentConfig can restrict all workspaces of an environment to certain extensions.
type EnvironmentConfig struct {
	AllowedExtensions          []string `json:"allowedExtensions"`
	IsAllowedExtensionsEnabled bool     `json:"isAllowedExtensionsEnabled"`
}

func (e EnvironmentConfig) Allows(extension string) bool {
	return !e.IsAllowedExtensionsEnabled ||
		slices.ContainsFunc(e.AllowedExtensions, func(a string) bool { return naming.Fold(a) == naming.Fold(extension) })
}

type TemplateCategory struct {
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	IsPrivate  bool     `json:"isPrivate"`
}
