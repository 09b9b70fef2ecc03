package sandbox

// A RouteInfo is what tests of all routes go by.
type RouteInfo struct{ Method, Pattern, Role, Needs string }

// Routes lists every route that the sandbox answers.
func Routes() []RouteInfo {
	var all []RouteInfo
	for _, r := range routes() {
		all = append(all, RouteInfo{r.method, r.pattern, r.role.String(), string(r.needs)})
	}
	return all
}
