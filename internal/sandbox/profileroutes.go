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

// apply fills in the options that a profile says, too, and that were left open.
func (o *Options) apply(p profile.Profile) {
	o.Latency = cmp.Or(o.Latency, p.Latency)
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

// routesOf takes from all of them what the service of a profile lacks.
func routesOf(p profile.Profile, all []route) []route {
	for i, r := range all {
		if p.IsWithout("replace") && r.method == http.MethodPost && r.pattern == "/assets/{id}" ||
			p.IsWithout("restore") && strings.HasPrefix(r.pattern, "/assets/restore") {
			all[i].handle = lacking
		}
	}
	return all
}

// lacking answers like an older installation, which knows nothing of a route.
func lacking(_ *Server, c *call) error {
	return problem.Refuse(http.StatusNotFound, "There is nothing at %s %s.", c.R.Method, c.R.URL.Path)
}

// deliver takes from a delivery what the service of a profile does not have.
func (c *call) deliver(p profile.Profile) error {
	if p.IsWithout("head") && c.R.Method == http.MethodHead {
		return problem.Refuse(http.StatusMethodNotAllowed, "HEAD is not answered here.")
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
