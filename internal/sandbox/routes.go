package sandbox

import (
	"net/http"

	"assetferry/internal/sandbox/fault"
)

// A route is a method and a pattern with its handler.
type route struct {
	method, pattern string
	role            role       // the least role that may call it; nobody: no token needed
	needs           permission // in the category of whatever the call finds, see call.allow
	handle          func(*Server, *call) error
}

// routes is the list of everything the sandbox answers, words before wildcards.
func routes() []route {
	return []route{
		{"POST", "/assets", user, mayCreateAssets, (*Server).uploadAsset},
		{"GET", "/assets", user, noPermission, (*Server).listAssets},
		{"POST", "/assets/namesExist", user, noPermission, (*Server).namesExist},
		{"POST", "/assets/copy", user, mayCreateAssets, (*Server).copyAssets},
		{"POST", "/assets/move", user, mayCreateAssets, (*Server).moveAssets},
		{"POST", "/assets/trash", user, mayDeleteAssets, (*Server).trashAssets},
		{"GET", "/assets/trash", user, noPermission, (*Server).listTrash},
		{"POST", "/assets/restore", user, mayCreateAssets, (*Server).restoreAssets},
		{"POST", "/assets/restore/validate", user, noPermission, (*Server).validateRestore},
		{"POST", "/assets/delete", user, mayDeleteAssets, (*Server).deleteAssets},
		{"GET", "/assets/recent", user, noPermission, (*Server).listRecent},
		{"PUT", "/assets/recent", user, noPermission, (*Server).markUsed},
		{"POST", "/assets/analyze", user, mayModifyAssets, (*Server).analyseAssets},
		{"GET", "/assets/{id}", user, noPermission, (*Server).getAsset},
		{"PATCH", "/assets/{id}", user, mayModifyAssets, (*Server).patchAsset},
		{"POST", "/assets/{id}", user, mayOverwrite, (*Server).replaceAsset},
		{"GET", "/assets/{id}/offset", user, noPermission, (*Server).getOffset},
		{"POST", "/assets/{id}/editImage", user, mayCreateAssets, (*Server).editImage},
		{"GET", "/assets/{id}/thumbs/{size}", user, noPermission, (*Server).deliverThumb},
		{"GET", "/assets/{id}/revisions", user, noPermission, (*Server).listRevisions},
		{"POST", "/assets/{id}/revisions", user, mayChangeRevision, (*Server).useRevision},
		{"DELETE", "/assets/{id}/revisions/{revisionId}", user, mayDeleteRevision, (*Server).removeRevision},

		{"POST", "/folders", user, mayCreateFolders, (*Server).createFolder},
		{"GET", "/folders", user, noPermission, (*Server).listFolders},
		{"GET", "/folders/{id}", user, noPermission, (*Server).getFolder},
		{"GET", "/folders/{id}/branch", user, noPermission, (*Server).getBranch},
		{"PUT", "/folders/{id}", user, mayRenameFolders, (*Server).renameFolder},
		{"DELETE", "/folders/{id}", user, mayDeleteFolders, (*Server).deleteFolder},

		{"GET", "/categories", user, noPermission, (*Server).listCategories},
		{"GET", "/categories/{id}", user, noPermission, (*Server).getCategory},
		{"POST", "/categories/authorizePrivateAccess", nobody, noPermission, (*Server).authorizePrivateAccess},
		{"GET", "/admin/categories", admin, noPermission, (*Server).listCategoriesInUse},
		{"POST", "/admin/categories", admin, noPermission, (*Server).createCategory},
		{"PUT", "/admin/categories/order", admin, noPermission, (*Server).orderCategories},
		{"PUT", "/admin/categories/{id}", admin, noPermission, (*Server).updateCategory},
		{"DELETE", "/admin/categories/{id}", admin, noPermission, (*Server).deleteCategory},

		{"GET", "/admin/groups", admin, noPermission, (*Server).listGroups},
		{"POST", "/admin/groups", admin, noPermission, (*Server).createGroup},
		{"PUT", "/admin/groups/{id}", admin, noPermission, (*Server).renameGroup},
		{"DELETE", "/admin/groups/{id}", admin, noPermission, (*Server).deleteGroup},
		{"GET", "/admin/permissions", admin, noPermission, (*Server).listGrants},
		{"POST", "/admin/permissions", admin, noPermission, (*Server).createGrant},
		{"PUT", "/admin/permissions/{id}", admin, noPermission, (*Server).updateGrant},
		{"DELETE", "/admin/permissions/{id}", admin, noPermission, (*Server).deleteGrant},

		{"GET", "/admin/images", admin, noPermission, (*Server).listQualities},
		{"PUT", "/admin/images/{format}", admin, noPermission, (*Server).setQuality},

		{"POST", "/search", user, noPermission, (*Server).search},
		{"GET", "/limits", user, noPermission, (*Server).getLimits},
		{"GET", "/permissions", user, noPermission, (*Server).getPermissions},

		{"GET", "/workspaces", user, noPermission, (*Server).listWorkspaces},
		{"GET", "/v2/workspaces", user, noPermission, (*Server).listWorkspaces},
		{"GET", "/v3/workspaces", user, noPermission, (*Server).listWorkspaces},
		{"GET", "/workspaces/metadata", user, noPermission, (*Server).getWorkspaceMetadata},
		{"PUT", "/admin/workspaces/{id}", admin, noPermission, (*Server).configureWorkspace},
		{"POST", "/superadmin/workspaces", superadmin, noPermission, (*Server).createWorkspace},
		{"PUT", "/superadmin/workspaces/{id}", superadmin, noPermission, (*Server).renameWorkspace},
		{"DELETE", "/superadmin/workspaces/{id}", superadmin, noPermission, (*Server).deleteWorkspace},
		{"GET", "/superadmin/workspacesTemplate", superadmin, noPermission, (*Server).getTemplate},
		{"PUT", "/superadmin/workspacesTemplate", superadmin, noPermission, (*Server).setTemplate},
		{"GET", "/admin/environmentConfig", admin, noPermission, (*Server).getEnvironmentConfig},
		{"PUT", "/superadmin/environmentConfig", superadmin, noPermission, (*Server).setEnvironmentConfig},

		{"GET", "/{workspaceId}/assets/{id}/file", nobody, noPermission, (*Server).deliver},
		{"GET", "/{workspaceId}/assets/{id}/images/{size}", nobody, noPermission, (*Server).deliverImage},
		{"GET", "/{workspaceId}/assets/{id}/revisions/{revisionId}/file", nobody, noPermission, (*Server).deliverRevision},

		{"GET", "/docs", nobody, noPermission, (*Server).serveDocs},
		{"GET", "/docs.json", nobody, noPermission, (*Server).serveDescription},
	}
}

// named are the routes by method and pattern.
func named(all []route) (names []fault.Route) {
	for _, r := range all {
		names = append(names, fault.Route{Method: r.method, Pattern: r.pattern})
	}
	return names
}

func (s *Server) notImplemented(c *call) error {
	return refuse(http.StatusNotImplemented, "The sandbox has no route %s %s; /docs lists those that it has.", c.R.Method, c.R.URL.Path)
}
