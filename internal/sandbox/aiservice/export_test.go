package aiservice

// A RouteInfo is what tests of all routes go by.
type RouteInfo struct {
	Method, Pattern string
	Scope           string // the first of the alternatives
	Open, Guess     bool
}

// Routes lists every route that the stand-in answers.
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
