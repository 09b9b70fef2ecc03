package sandbox

import (
	"net/http"

	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/tokens"
)

// A route is a method and a pattern with its handler.
type route struct {
	method, pattern string
	role            tokens.Role // the least role that may call it; nobody: no token needed
	needs           permission  // in the category of whatever the call finds, see call.allow
	handle          func(*Server, *call) error
}

// routes is the list of everything the sandbox answers, words before wildcards.
func routes() []route {
	return []route{
		{"POST", "/assets", tokens.User, mayCreateAssets, (*Server).uploadAsset},
		{"GET", "/assets", tokens.User, noPermission, (*Server).listAssets},
		{"POST", "/assets/namesExist", tokens.User, noPermission, (*Server).namesExist},
		{"POST", "/assets/copy", tokens.User, mayCreateAssets, (*Server).copyAssets},
		{"POST", "/assets/move", tokens.User, mayCreateAssets, (*Server).moveAssets},
		{"POST", "/assets/trash", tokens.User, mayDeleteAssets, (*Server).trashAssets},
		{"GET", "/assets/trash", tokens.User, noPermission, (*Server).listTrash},
		{"POST", "/assets/restore", tokens.User, mayCreateAssets, (*Server).restoreAssets},
		{"POST", "/assets/restore/validate", tokens.User, noPermission, (*Server).validateRestore},
		{"POST", "/assets/delete", tokens.User, mayDeleteAssets, (*Server).deleteAssets},
		{"GET", "/assets/recent", tokens.User, noPermission, (*Server).listRecent},
		{"PUT", "/assets/recent", tokens.User, noPermission, (*Server).markUsed},
		{"POST", "/assets/analyze", tokens.User, mayModifyAssets, (*Server).analyseAssets},
		{"GET", "/assets/{id}", tokens.User, noPermission, (*Server).getAsset},
		{"PATCH", "/assets/{id}", tokens.User, mayModifyAssets, (*Server).patchAsset},
		{"POST", "/assets/{id}", tokens.User, mayOverwrite, (*Server).replaceAsset},
		{"GET", "/assets/{id}/offset", tokens.User, noPermission, (*Server).getOffset},
		{"POST", "/assets/{id}/editImage", tokens.User, mayCreateAssets, (*Server).editImage},
		{"GET", "/assets/{id}/thumbs/{size}", tokens.User, noPermission, (*Server).deliverThumb},
		{"GET", "/assets/{id}/revisions", tokens.User, noPermission, (*Server).listRevisions},
		{"POST", "/assets/{id}/revisions", tokens.User, mayChangeRevision, (*Server).useRevision},
		{"DELETE", "/assets/{id}/revisions/{revisionId}", tokens.User, mayDeleteRevision, (*Server).removeRevision},

		{"POST", "/folders", tokens.User, mayCreateFolders, (*Server).createFolder},
		{"GET", "/folders", tokens.User, noPermission, (*Server).listFolders},
		{"GET", "/folders/{id}", tokens.User, noPermission, (*Server).getFolder},
		{"GET", "/folders/{id}/branch", tokens.User, noPermission, (*Server).getBranch},
		{"PUT", "/folders/{id}", tokens.User, mayRenameFolders, (*Server).renameFolder},
		{"DELETE", "/folders/{id}", tokens.User, mayDeleteFolders, (*Server).deleteFolder},

		{"GET", "/categories", tokens.User, noPermission, (*Server).listCategories},
		{"GET", "/categories/{id}", tokens.User, noPermission, (*Server).getCategory},
		{"POST", "/categories/authorizePrivateAccess", tokens.Nobody, noPermission, (*Server).authorizePrivateAccess},
		{"GET", "/admin/categories", tokens.Admin, noPermission, (*Server).listCategoriesInUse},
		{"POST", "/admin/categories", tokens.Admin, noPermission, (*Server).createCategory},
		{"PUT", "/admin/categories/order", tokens.Admin, noPermission, (*Server).orderCategories},
		{"PUT", "/admin/categories/{id}", tokens.Admin, noPermission, (*Server).updateCategory},
		{"DELETE", "/admin/categories/{id}", tokens.Admin, noPermission, (*Server).deleteCategory},

		{"GET", "/admin/groups", tokens.Admin, noPermission, (*Server).listGroups},
		{"POST", "/admin/groups", tokens.Admin, noPermission, (*Server).createGroup},
		{"PUT", "/admin/groups/{id}", tokens.Admin, noPermission, (*Server).renameGroup},
		{"DELETE", "/admin/groups/{id}", tokens.Admin, noPermission, (*Server).deleteGroup},
		{"GET", "/admin/permissions", tokens.Admin, noPermission, (*Server).listGrants},
		{"POST", "/admin/permissions", tokens.Admin, noPermission, (*Server).createGrant},
		{"PUT", "/admin/permissions/{id}", tokens.Admin, noPermission, (*Server).updateGrant},
		{"DELETE", "/admin/permissions/{id}", tokens.Admin, noPermission, (*Server).deleteGrant},

		{"GET", "/admin/images", tokens.Admin, noPermission, (*Server).listQualities},
		{"PUT", "/admin/images/{format}", tokens.Admin, noPermission, (*Server).setQuality},

		{"POST", "/search", tokens.User, noPermission, (*Server).search},
		{"GET", "/limits", tokens.User, noPermission, (*Server).getLimits},
		{"GET", "/permissions", tokens.User, noPermission, (*Server).getPermissions},

		{"GET", "/workspaces", tokens.User, noPermission, (*Server).listWorkspaces},
		{"GET", "/v2/workspaces", tokens.User, noPermission, (*Server).listWorkspaces},
		{"GET", "/v3/workspaces", tokens.User, noPermission, (*Server).listWorkspaces},
		{"GET", "/workspaces/metadata", tokens.User, noPermission, (*Server).getWorkspaceMetadata},
		{"PUT", "/admin/workspaces/{id}", tokens.Admin, noPermission, (*Server).configureWorkspace},
		{"POST", "/superadmin/workspaces", tokens.Superadmin, noPermission, (*Server).createWorkspace},
		{"PUT", "/superadmin/workspaces/{id}", tokens.Superadmin, noPermission, (*Server).renameWorkspace},
		{"DELETE", "/superadmin/workspaces/{id}", tokens.Superadmin, noPermission, (*Server).deleteWorkspace},
		{"GET", "/superadmin/workspacesTemplate", tokens.Superadmin, noPermission, (*Server).getTemplate},
		{"PUT", "/superadmin/workspacesTemplate", tokens.Superadmin, noPermission, (*Server).setTemplate},
		{"GET", "/admin/environmentConfig", tokens.Admin, noPermission, (*Server).getEnvironmentConfig},
		{"PUT", "/superadmin/environmentConfig", tokens.Superadmin, noPermission, (*Server).setEnvironmentConfig},

		{"GET", "/{workspaceId}/assets/{id}/file", tokens.Nobody, noPermission, (*Server).deliver},
		{"GET", "/{workspaceId}/assets/{id}/images/{size}", tokens.Nobody, noPermission, (*Server).deliverImage},
		{"GET", "/{workspaceId}/assets/{id}/revisions/{revisionId}/file", tokens.Nobody, noPermission, (*Server).deliverRevision},

		{"GET", "/docs", tokens.Nobody, noPermission, (*Server).serveDocs},
		{"GET", "/docs.json", tokens.Nobody, noPermission, (*Server).serveDescription},
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
	return problem.Refuse(http.StatusNotImplemented, "The sandbox has no route %s %s; /docs lists those that it has.", c.R.Method, c.R.URL.Path)
}
