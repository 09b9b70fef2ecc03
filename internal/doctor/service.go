package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/event"
	"assetferry/internal/probe"
	"assetferry/internal/ui"
)

// harmlessSkew is the difference of two clocks that no token is affected by.
const harmlessSkew = 30 * time.Second

// checkURL sends the first request and reports the duration of each step. Any response counts; another
// check judges the token.
func (d *Doctor) checkURL(ctx context.Context) Finding {
	if d.Destination == nil {
		return unchecked("there are no credentials")
	}
	if err := d.Host.CheckCAFile(d.To.CAFile); err != nil {
		return d.broken(err)
	}
	var err error
	if d.Destination.Client, err = d.Host.Connect(); err != nil {
		return d.broken(err)
	}
	c := &connection{}
	d.ping, d.met = d.Host.Ping(httptrace.WithClientTrace(ctx, c.trace())), true
	facts := append(d.circumstances(), c.facts()...)
	if !d.answered() {
		f := d.broken(d.ping).with(facts...)
		f.Hint = cmp.Or(f.Hint, "check the base URL: another service responds there")
		return f
	}
	if u, err := url.Parse(d.Destination.URL); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return warning("use https://, or a trusted network only",
			"%s uses plain HTTP: others in the network can read the token and the files", d.Destination.URL).with(facts...)
	}
	return ok("%s responds", d.Destination.URL).with(facts...)
}

// answered reports whether the service itself responded to the first request, even with a refusal.
func (d *Doctor) answered() bool {
	if d.ping == nil {
		return true
	}
	e, ok := errors.AsType[*assets.Error](d.ping)
	return ok && e.Err == nil && !e.Foreign && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusNotFound
}

// circumstances returns settings of the environment that affect the connection.
func (d *Doctor) circumstances() []event.Fact {
	var facts []event.Fact
	if d.To.CAFile != "" {
		facts = append(facts, event.Fact{Name: "authorities", Value: "those of the system and of " + d.To.CAFile})
	}
	r, err := http.NewRequest(http.MethodGet, d.Destination.URL, nil)
	if err != nil {
		return facts
	}
	proxy, err := http.ProxyFromEnvironment(r)
	switch {
	case err != nil:
		facts = append(facts, event.Fact{Name: "proxy", Value: "not usable: a proxy variable contains no URL", From: d.proxyVariables()})
	case proxy != nil:
		facts = append(facts, event.Fact{Name: "proxy", Value: proxy.Scheme + "://" + proxy.Host, From: d.proxyVariables()})
	case d.proxyVariables() != "":
		facts = append(facts, event.Fact{Name: "proxy", Value: "none for this URL, in spite of " + d.proxyVariables()})
	}
	return facts
}

// proxyVariables returns the names of the proxy variables that are set. Their values may contain passwords.
func (d *Doctor) proxyVariables() string {
	var set []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"} {
		if v, _ := d.Lookup(name); v != "" {
			set = append(set, name)
		}
	}
	return strings.Join(set, ", ")
}

// A connection measures the steps of a request, or of its last repetition.
type connection struct {
	mu                                                        sync.Mutex
	lookup, looked, dial, dialed, shake, shook, wrote, answer time.Time
}

func (w *connection) trace() *httptrace.ClientTrace {
	note := func(t *time.Time) {
		w.mu.Lock()
		defer w.mu.Unlock()
		*t = time.Now()
	}
	noteUnless := func(err error, t *time.Time) {
		if err == nil {
			note(t)
		}
	}
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { note(&w.lookup) },
		DNSDone:              func(i httptrace.DNSDoneInfo) { noteUnless(i.Err, &w.looked) },
		ConnectStart:         func(string, string) { note(&w.dial) },
		ConnectDone:          func(_, _ string, err error) { noteUnless(err, &w.dialed) },
		TLSHandshakeStart:    func() { note(&w.shake) },
		TLSHandshakeDone:     func(_ tls.ConnectionState, err error) { noteUnless(err, &w.shook) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { note(&w.wrote) },
		GotFirstResponseByte: func() { note(&w.answer) },
	}
}

func (w *connection) facts() []event.Fact {
	w.mu.Lock()
	defer w.mu.Unlock()
	var facts []event.Fact
	for _, step := range []struct {
		name     string
		from, to time.Time
	}{{"DNS lookup", w.lookup, w.looked}, {"connected", w.dial, w.dialed}, {"TLS", w.shake, w.shook}, {"response", w.wrote, w.answer}} {
		if took := step.to.Sub(step.from); !step.from.IsZero() && took >= 0 {
			facts = append(facts, event.Fact{Name: step.name, Value: fmt.Sprintf("%.1f ms", float64(took.Microseconds())/1000)})
		}
	}
	return facts
}

func (d *Doctor) checkClock(context.Context) Finding {
	if !d.met {
		return unchecked("the service was not contacted")
	}
	skew, known := d.Destination.Client.Skew()
	if !known {
		return unchecked("no response contains the time of the service")
	}
	side := "behind"
	if skew < 0 {
		side = "ahead of"
	}
	e, _ := errors.AsType[*assets.Error](d.ping)
	refused := e != nil && e.Status == http.StatusUnauthorized
	switch {
	case skew.Abs() <= harmlessSkew:
		return ok("this machine and the service agree")
	case d.Settings.CompensateClock && !refused:
		return ok("this machine is %v %s the service; --compensate-clock corrects that", skew.Abs(), side)
	case refused:
		f := failed("set the clock, or use --compensate-clock", "this machine is %v %s the service, so iat in the token is wrong and the token is refused", skew.Abs(), side)
		f.Auth = true
		return f
	}
	return warning("set the clock, or use --compensate-clock", "this machine is %v %s the service, and so is iat in the token", skew.Abs(), side)
}

// checkAccess reports the permissions of the token.
func (d *Doctor) checkAccess(ctx context.Context) Finding {
	if d.met && d.answered() && d.ping != nil {
		return d.broken(d.ping)
	}
	if f, is := d.without(); is {
		return f
	}
	d.admin = d.Destination.Client.PingAdmin(ctx)
	e, _ := errors.AsType[*assets.Error](d.admin)
	switch {
	case d.admin == nil:
		if d.Settings.LeastPrivilege {
			return ok("the service accepts the tokens (role %s), and those for /admin/ have administrator access", d.claims.Role)
		}
		return ok("the service accepts the token with administrator access (role %s)", d.claims.Role)
	case e != nil && (e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized):
		return warning("sign tokens with the role admin to create categories (--unsupported create)",
			"the service accepts the token without administrator access (role %s): it can create assets and folders, but no categories", d.claims.Role)
	case absent(d.admin):
		return warning("check that the base URL is that of the API", "the service accepts the token, but has no administrator API")
	}
	return d.broken(d.admin)
}

// absent reports whether a service lacks a route.
func absent(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	return errors.Is(err, fs.ErrNotExist) || ok && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

// without returns the reason why a check of the service is impossible, if it is.
func (d *Doctor) without() (f Finding, is bool) {
	switch {
	case !d.met:
		return unchecked("the service was not contacted"), true
	case !d.answered():
		return unchecked("the service does not respond"), true
	case d.ping != nil:
		return unchecked("the service does not accept the token"), true
	}
	return Finding{}, false
}

func (d *Doctor) checkWorkspace(ctx context.Context) Finding {
	if f, is := d.without(); is {
		return f
	}
	all, err := d.Destination.Client.Workspaces(ctx)
	switch {
	case absent(err):
		return unchecked("the service does not list workspaces")
	case err != nil:
		return d.broken(err)
	}
	at := slices.IndexFunc(all, func(w assets.Workspace) bool { return w.ID == d.Workspace() })
	if at < 0 {
		return failed("check --workspace and the workspaces in the token", "the token has no access to the workspace %s, but to %s", d.Workspace(), ui.Counted(int64(len(all)), "other one"))
	}
	f := ok("%q, one of %s in the token", all[at].Name, ui.Counted(int64(len(all)), "workspace")).with(event.Fact{Name: "ID", Value: all[at].ID})
	if d.To.Workspace == "" && len(all) > 1 {
		f.Facts = append(f.Facts, event.Fact{Name: "chosen", Value: "the default workspace; --workspace selects another"})
	}
	return f
}

// Workspace returns the workspace that a run writes to. As in the service, the first one in the token
// is the default.
func (d *Doctor) Workspace() string {
	if d.To.Workspace == "" && d.claims.Listed {
		return d.claims.Workspaces[0]
	}
	return d.Destination.Workspace
}

func (d *Doctor) checkLimits(ctx context.Context) Finding {
	if f, is := d.without(); is {
		return f
	}
	l, err := d.Destination.Client.Limits(ctx)
	switch {
	case absent(err):
		return unchecked("the service does not report its limits")
	case err != nil:
		return d.broken(err)
	}
	facts := []event.Fact{{Name: "plan", Value: cmp.Or(l.Plan, "not reported")}, {Name: "largest file", Value: "not reported"}, {Name: "largest image", Value: "not reported"}}
	if l.MaxFileSize > 0 {
		facts[1].Value = ui.Bytes(l.MaxFileSize)
	}
	if l.MaxMegapixels > 0 {
		facts[2].Value = fmt.Sprintf("%v megapixels", l.MaxMegapixels)
	}
	var used []string
	if l.StorageExceeded {
		used = append(used, "storage")
	}
	if l.BandwidthExceeded {
		used = append(used, "bandwidth")
	}
	if len(used) > 0 {
		return failed("free space in the service, or choose a larger plan; until then uploads are refused and files may not be served",
			"the %s of the plan is used up", strings.Join(used, " and the ")).with(facts...)
	}
	return ok("storage and bandwidth of the plan are available").with(facts...)
}

// checkCategories lists the categories with their extensions, which decide what can be uploaded.
func (d *Doctor) checkCategories(ctx context.Context) Finding {
	if f, is := d.without(); is {
		return f
	}
	var facts []event.Fact
	seen := map[string]int{}
	for c, err := range d.Destination.Client.Categories(ctx) {
		if err != nil {
			return d.broken(err).with(facts...)
		}
		seen[c.Name]++
		text := strings.Join(c.Extensions, " ")
		if c.Private {
			text += " (private)"
		}
		facts = append(facts, event.Fact{Name: c.Name, Value: cmp.Or(text, "no extension")})
	}
	f := d.judgeCategories(seen)
	return f.with(facts...)
}

func (d *Doctor) judgeCategories(seen map[string]int) Finding {
	creates := d.Settings.Unsupported == "create" && d.admin == nil
	var equal, left []string
	total := 0
	for name, n := range seen {
		if strings.HasPrefix(name, probe.Prefix) {
			left = append(left, name)
		}
		if total += n; n > 1 {
			equal = append(equal, name)
		}
	}
	slices.Sort(equal)
	slices.Sort(left)
	named := d.Settings.Category
	switch {
	case total == 0 && creates:
		return warning("", "there is none yet; --unsupported create creates the required ones")
	case total == 0:
		return failed("create one in the service, or use --unsupported create", "there is none, so nothing can be uploaded")
	case named != "" && seen[named] == 0 && !creates:
		return failed("check the name, or create it with --unsupported create", "the category %q of --category does not exist", named)
	case len(left) > 0:
		return warning("delete it in the service with its content", "an interrupted doctor --probe left %s", strings.Join(left, ", "))
	case len(equal) > 0:
		return warning("rename all but one of them", "several have the same name: %s; the oldest one is used", strings.Join(equal, ", "))
	}
	return ok("%s, with these extensions", categories(total))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func categories(n int) string {
	return ui.CountedAs(int64(n), "category", "categories")
}
