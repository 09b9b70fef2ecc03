package sandbox

import (
	"net/http"

	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/tokens"
)

// A route is a method and a pattern with its handler.
type route struct {
	method, pattern string
	role            tokens.Role        // minimum role; tokens.Anonymous: no token is required
	needs           records.Permission // in the category of the objects of the call, see call.allow
	handle          func(*Server, *call) error
}

// routes returns all routes of the sandbox, words before wildcards.
func routes() []route {
	return []route{
		{"POST", "/assets", tokens.User, records.MayCreateAssets, (*Server).uploadAsset},
		{"GET", "/assets", tokens.User, records.NoPermission, (*Server).listAssets},
		{"POST", "/assets/namesExist", tokens.User, records.NoPermission, (*Server).namesExist},
		{"POST", "/assets/copy", tokens.User, records.MayCreateAssets, (*Server).copyAssets},
		{"POST", "/assets/move", tokens.User, records.MayCreateAssets, (*Server).moveAssets},
		{"POST", "/assets/trash", tokens.User, records.MayDeleteAssets, (*Server).trashAssets},
		{"GET", "/assets/trash", tokens.User, records.NoPermission, (*Server).listTrash},
		{"POST", "/assets/restore", tokens.User, records.MayCreateAssets, (*Server).restoreAssets},
		{"POST", "/assets/restore/validate", tokens.User, records.NoPermission, (*Server).validateRestore},
		{"POST", "/assets/delete", tokens.User, records.MayDeleteAssets, (*Server).deleteAssets},
		{"GET", "/assets/recent", tokens.User, records.NoPermission, (*Server).listRecent},
		{"PUT", "/assets/recent", tokens.User, records.NoPermission, (*Server).markUsed},
		{"POST", "/assets/analyze", tokens.User, records.MayModifyAssets, (*Server).analyseAssets},
		{"GET", "/assets/{id}", tokens.User, records.NoPermission, (*Server).getAsset},
		{"PATCH", "/assets/{id}", tokens.User, records.MayModifyAssets, (*Server).patchAsset},
		{"POST", "/assets/{id}", tokens.User, records.MayOverwrite, (*Server).replaceAsset},
		{"GET", "/assets/{id}/offset", tokens.User, records.NoPermission, (*Server).getOffset},
		{"POST", "/assets/{id}/editImage", tokens.User, records.MayCreateAssets, (*Server).editImage},
		{"GET", "/assets/{id}/thumbs/{size}", tokens.User, records.NoPermission, (*Server).deliverThumb},
		{"GET", "/assets/{id}/revisions", tokens.User, records.NoPermission, (*Server).listRevisions},
		{"POST", "/assets/{id}/revisions", tokens.User, records.MayChangeRevision, (*Server).useRevision},
		{"DELETE", "/assets/{id}/revisions/{revisionId}", tokens.User, records.MayDeleteRevision, (*Server).removeRevision},

		{"POST", "/folders", tokens.User, records.MayCreateFolders, (*Server).createFolder},
		{"GET", "/folders", tokens.User, records.NoPermission, (*Server).listFolders},
		{"GET", "/folders/{id}", tokens.User, records.NoPermission, (*Server).getFolder},
		{"GET", "/folders/{id}/branch", tokens.User, records.NoPermission, (*Server).getBranch},
		{"PUT", "/folders/{id}", tokens.User, records.MayRenameFolders, (*Server).renameFolder},
		{"DELETE", "/folders/{id}", tokens.User, records.MayDeleteFolders, (*Server).deleteFolder},

		{"GET", "/categories", tokens.User, records.NoPermission, (*Server).listCategories},
		{"GET", "/categories/{id}", tokens.User, records.NoPermission, (*Server).getCategory},
		{"POST", "/categories/authorizePrivateAccess", tokens.Anonymous, records.NoPermission, (*Server).authorizePrivateAccess},
		{"GET", "/admin/categories", tokens.Admin, records.NoPermission, (*Server).listCategoriesInUse},
		{"POST", "/admin/categories", tokens.Admin, records.NoPermission, (*Server).createCategory},
		{"PUT", "/admin/categories/order", tokens.Admin, records.NoPermission, (*Server).orderCategories},
		{"PUT", "/admin/categories/{id}", tokens.Admin, records.NoPermission, (*Server).updateCategory},
		{"DELETE", "/admin/categories/{id}", tokens.Admin, records.NoPermission, (*Server).deleteCategory},

		{"GET", "/admin/groups", tokens.Admin, records.NoPermission, (*Server).listGroups},
		{"POST", "/admin/groups", tokens.Admin, records.NoPermission, (*Server).createGroup},
		{"PUT", "/admin/groups/{id}", tokens.Admin, records.NoPermission, (*Server).renameGroup},
		{"DELETE", "/admin/groups/{id}", tokens.Admin, records.NoPermission, (*Server).deleteGroup},
		{"GET", "/admin/permissions", tokens.Admin, records.NoPermission, (*Server).listGrants},
		{"POST", "/admin/permissions", tokens.Admin, records.NoPermission, (*Server).createGrant},
		{"PUT", "/admin/permissions/{id}", tokens.Admin, records.NoPermission, (*Server).updateGrant},
		{"DELETE", "/admin/permissions/{id}", tokens.Admin, records.NoPermission, (*Server).deleteGrant},

		{"GET", "/admin/images", tokens.Admin, records.NoPermission, (*Server).listQualities},
		{"PUT", "/admin/images/{format}", tokens.Admin, records.NoPermission, (*Server).setQuality},

		{"POST", "/search", tokens.User, records.NoPermission, (*Server).search},
		{"GET", "/limits", tokens.User, records.NoPermission, (*Server).getLimits},
		{"GET", "/permissions", tokens.User, records.NoPermission, (*Server).getPermissions},

		{"GET", "/workspaces", tokens.User, records.NoPermission, (*Server).listWorkspaces},
		{"GET", "/v2/workspaces", tokens.User, records.NoPermission, (*Server).listWorkspaces},
		{"GET", "/v3/workspaces", tokens.User, records.NoPermission, (*Server).listWorkspaces},
		{"GET", "/workspaces/metadata", tokens.User, records.NoPermission, (*Server).getWorkspaceMetadata},
		{"PUT", "/admin/workspaces/{id}", tokens.Admin, records.NoPermission, (*Server).configureWorkspace},
		{"POST", "/superadmin/workspaces", tokens.Superadmin, records.NoPermission, (*Server).createWorkspace},
		{"PUT", "/superadmin/workspaces/{id}", tokens.Superadmin, records.NoPermission, (*Server).renameWorkspace},
		{"DELETE", "/superadmin/workspaces/{id}", tokens.Superadmin, records.NoPermission, (*Server).deleteWorkspace},
		{"GET", "/superadmin/workspacesTemplate", tokens.Superadmin, records.NoPermission, (*Server).getTemplate},
		{"PUT", "/superadmin/workspacesTemplate", tokens.Superadmin, records.NoPermission, (*Server).setTemplate},
		{"GET", "/admin/environmentConfig", tokens.Admin, records.NoPermission, (*Server).getEnvironmentConfig},
		{"PUT", "/superadmin/environmentConfig", tokens.Superadmin, records.NoPermission, (*Server).setEnvironmentConfig},

		{"GET", "/{workspaceId}/assets/{id}/file", tokens.Anonymous, records.NoPermission, (*Server).deliver},
		{"GET", "/{workspaceId}/assets/{id}/images/{size}", tokens.Anonymous, records.NoPermission, (*Server).deliverImage},
		{"GET", "/{workspaceId}/assets/{id}/revisions/{revisionId}/file", tokens.Anonymous, records.NoPermission, (*Server).deliverRevision},

		{"GET", "/docs", tokens.Anonymous, records.NoPermission, (*Server).serveDocs},
		{"GET", "/docs.json", tokens.Anonymous, records.NoPermission, (*Server).serveDescription},
	}
}

// named returns the routes by method and pattern.
func named(all []route) (names []fault.Route) {
	for _, r := range all {
		names = append(names, fault.Route{Method: r.method, Pattern: r.pattern})
	}
	return names
}

func (s *Server) notImplemented(c *call) error {
	return problem.Refuse(http.StatusNotImplemented, "The sandbox has no route %s %s; for all routes see /docs.", c.R.Method, c.R.URL.Path)
}
