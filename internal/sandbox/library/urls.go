package library

import "net/url"

func workspaceAddress(id string) string { return base + "/workspaces/" + url.PathEscape(id) }
func searchAddress(id string) string    { return workspaceAddress(id) + "/search" }
func trashAddress(id string) string     { return workspaceAddress(id) + "/trash" }
func categoryAddress(id string) string  { return base + "/categories/" + url.PathEscape(id) }
func foldersAddress(id string) string   { return categoryAddress(id) + "/folders" }
func folderAddress(id string) string    { return base + "/folders/" + url.PathEscape(id) }
func assetAddress(id string) string     { return base + "/assets/" + url.PathEscape(id) }
func thumbnailAddress(id string) string { return assetAddress(id) + "/thumbnail" }
func previewAddress(id string) string   { return assetAddress(id) + "/preview" }
func fileAddress(id string) string      { return assetAddress(id) + "/file" }

func revisionAddress(asset, revision string) string {
	return fileAddress(asset) + "?" + url.Values{"revision": {revision}}.Encode()
}

// trail returns links to a workspace, a category, and the enclosing folders.
func trail(workspace, category Ref, around []Ref) []Link {
	all := []Link{{workspace.Name, workspaceAddress(workspace.ID)}}
	if category.ID != "" {
		all = append(all, Link{category.Name, categoryAddress(category.ID)})
	}
	for _, f := range around {
		all = append(all, Link{f.Name, folderAddress(f.ID)})
	}
	return all
}
