package aiservice

// A RouteInfo is a route for tests of all routes.
type RouteInfo struct {
	Method, Pattern string
	Scope           string // the first alternative
	Open, Guess     bool
}

// Routes returns all routes of the stand-in.
func Routes() []RouteInfo {
	var all []RouteInfo
	for _, r := range routes() {
		info := RouteInfo{Method: r.method, Pattern: r.pattern, Open: r.open, Guess: r.guess}
		if len(r.scopes) > 0 {
			info.Scope = r.scopes[0]
		}
		all = append(all, info)
	}
	return all
}
