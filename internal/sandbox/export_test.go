package sandbox

// A RouteInfo is a route for tests of all routes.
type RouteInfo struct{ Method, Pattern, Role, Needs string }

// Routes returns all routes of the sandbox.
func Routes() []RouteInfo {
	var all []RouteInfo
	for _, r := range routes() {
		all = append(all, RouteInfo{r.method, r.pattern, r.role.String(), string(r.needs)})
	}
	return all
}
