package sandbox

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/profile"
)

// apply sets the options of a profile that are not set otherwise.
func (o *Options) apply(p profile.Profile) {
	o.ProcessingDelay = cmp.Or(o.ProcessingDelay, p.Processing)
	o.TokenAge = cmp.Or(o.TokenAge, p.TokenAge)
	o.Limits.PricingPlan = cmp.Or(o.Limits.PricingPlan, p.Plan)
	o.Limits.MaxFileSizeInBytes = cmp.Or(o.Limits.MaxFileSizeInBytes, p.MaxFileSize)
	o.Limits.MaxImageInMegapixels = cmp.Or(o.Limits.MaxImageInMegapixels, p.MaxMegapixels)
	if p.Rate > 0 {
		o.Faults = append(slices.Clip(o.Faults), fault.Rule{
			Method: "*", Route: "*", Status: http.StatusTooManyRequests, Limit: float64(p.Rate),
			RetryAfter: p.RetryAfter, HasRetry: p.RetryAfter != "",
		})
	}
}

// routesOf removes the routes that the service of a profile lacks.
func routesOf(p profile.Profile, all []route) []route {
	for i, r := range all {
		if p.IsWithout("replace") && r.method == http.MethodPost && r.pattern == "/assets/{id}" ||
			p.IsWithout("restore") && strings.HasPrefix(r.pattern, "/assets/restore") {
			all[i].handle = lacking
		}
	}
	return all
}

// lacking responds like an older installation without the route.
func lacking(_ *Server, c *call) error {
	return problem.Refuse(http.StatusNotFound, "Unknown route %s %s.", c.R.Method, c.R.URL.Path)
}

// deliver removes the delivery features that the service of a profile lacks.
func (c *call) deliver(p profile.Profile) error {
	if p.IsWithout("head") && c.R.Method == http.MethodHead {
		return problem.Refuse(http.StatusMethodNotAllowed, "HEAD is not supported.")
	}
	if p.IsWithout("ranges") {
		c.R.Header.Del("Range")
		c.W.Without = append(c.W.Without, "Accept-Ranges")
	}
	if p.IsWithout("etag") {
		c.W.Without = append(c.W.Without, "ETag")
	}
	return nil
}
