package library

import "net/url"

func workspaceURL(id string) string { return base + "/workspaces/" + url.PathEscape(id) }
func searchURL(id string) string    { return workspaceURL(id) + "/search" }
func trashURL(id string) string     { return workspaceURL(id) + "/trash" }
func categoryURL(id string) string  { return base + "/categories/" + url.PathEscape(id) }
func foldersURL(id string) string   { return categoryURL(id) + "/folders" }
func folderURL(id string) string    { return base + "/folders/" + url.PathEscape(id) }
func assetURL(id string) string     { return base + "/assets/" + url.PathEscape(id) }
func thumbnailURL(id string) string { return assetURL(id) + "/thumbnail" }
func previewURL(id string) string   { return assetURL(id) + "/preview" }
func fileURL(id string) string      { return assetURL(id) + "/file" }

func revisionURL(asset, revision string) string {
	return fileURL(asset) + "?" + url.Values{"revision": {revision}}.Encode()
}

// trail returns links to a workspace, a category, and the enclosing folders.
func trail(workspace, category Ref, around []Ref) []Link {
	all := []Link{{workspace.Name, workspaceURL(workspace.ID)}}
	if category.ID != "" {
		all = append(all, Link{category.Name, categoryURL(category.ID)})
	}
	for _, f := range around {
		all = append(all, Link{f.Name, folderURL(f.ID)})
	}
	return all
}
