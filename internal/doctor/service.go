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

// harmlessSkew is how far two clocks may differ without harm to any token.
const harmlessSkew = 30 * time.Second

// checkAddress makes the first contact and tells how long each step of it took. A
// service that answers at all is there; what it thinks of the token is another check.
func (d *Doctor) checkAddress(ctx context.Context) Finding {
	if d.Destination == nil {
		return unchecked("there are no credentials to go there with")
	}
	if err := d.Host.CheckCAFile(d.To.CAFile); err != nil {
		return d.broken(err)
	}
	var err error
	if d.Destination.Client, err = d.Host.Connect(); err != nil {
		return d.broken(err)
	}
	way := &way{}
	d.ping, d.met = d.Host.Ping(httptrace.WithClientTrace(ctx, way.trace())), true
	facts := append(d.circumstances(), way.facts()...)
	if !d.answered() {
		f := d.broken(d.ping).with(facts...)
		f.Hint = cmp.Or(f.Hint, "check the base address: what answers there is not the service")
		return f
	}
	if u, err := url.Parse(d.Destination.URL); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return warning("use https://, or keep it to a network that you trust",
			"%s is reached by plain HTTP: who listens on the way can read the token and the files", d.Destination.URL).with(facts...)
	}
	return ok("%s answers", d.Destination.URL).with(facts...)
}

// answered reports whether the service itself answered the first contact, be it with
// a no.
func (d *Doctor) answered() bool {
	if d.ping == nil {
		return true
	}
	e, ok := errors.AsType[*assets.Error](d.ping)
	return ok && e.Err == nil && !e.Foreign && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusNotFound
}

// circumstances are what changes the way to the service without being asked.
func (d *Doctor) circumstances() []event.Fact {
	var facts []event.Fact
	if d.To.CAFile != "" {
		facts = append(facts, event.Fact{Name: "authorities", Value: "those of the system, and of " + d.To.CAFile})
	}
	r, err := http.NewRequest(http.MethodGet, d.Destination.URL, nil)
	if err != nil {
		return facts
	}
	proxy, err := http.ProxyFromEnvironment(r)
	switch {
	case err != nil:
		facts = append(facts, event.Fact{Name: "proxy", Value: "not usable: a proxy variable holds no address", From: d.proxyVariables()})
	case proxy != nil:
		facts = append(facts, event.Fact{Name: "proxy", Value: proxy.Scheme + "://" + proxy.Host, From: d.proxyVariables()})
	case d.proxyVariables() != "":
		facts = append(facts, event.Fact{Name: "proxy", Value: "none for this address, in spite of " + d.proxyVariables()})
	}
	return facts
}

// proxyVariables names the variables that are set; their values may hold passwords.
func (d *Doctor) proxyVariables() string {
	var set []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"} {
		if v, _ := d.Lookup(name); v != "" {
			set = append(set, name)
		}
	}
	return strings.Join(set, ", ")
}

// A way measures the steps of a request, the last one if it was repeated.
type way struct {
	mu                                                        sync.Mutex
	lookup, looked, dial, dialed, shake, shook, wrote, answer time.Time
}

func (w *way) trace() *httptrace.ClientTrace {
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

func (w *way) facts() []event.Fact {
	w.mu.Lock()
	defer w.mu.Unlock()
	var facts []event.Fact
	for _, step := range []struct {
		name     string
		from, to time.Time
	}{{"name found", w.lookup, w.looked}, {"connected", w.dial, w.dialed}, {"TLS", w.shake, w.shook}, {"answer", w.wrote, w.answer}} {
		if took := step.to.Sub(step.from); !step.from.IsZero() && took >= 0 {
			facts = append(facts, event.Fact{Name: step.name, Value: fmt.Sprintf("%.1f ms", float64(took.Microseconds())/1000)})
		}
	}
	return facts
}

func (d *Doctor) checkClock(context.Context) Finding {
	if !d.met {
		return unchecked("the service was not asked")
	}
	skew, known := d.Destination.Client.Skew()
	if !known {
		return unchecked("no answer told the service's time")
	}
	side := "behind"
	if skew < 0 {
		side = "ahead of"
	}
	e, _ := errors.AsType[*assets.Error](d.ping)
	refused := e != nil && e.Status == http.StatusUnauthorized
	switch {
	case skew.Abs() <= harmlessSkew:
		return ok("ours and the service's agree")
	case d.Settings.CompensateClock && !refused:
		return ok("ours is %v %s the service's, and --compensate-clock makes up for it", skew.Abs(), side)
	case refused:
		f := failed("set the clock, or use --compensate-clock", "ours is %v %s the service's, so iat in the token is wrong, and the token is refused", skew.Abs(), side)
		f.Auth = true
		return f
	}
	return warning("set the clock, or use --compensate-clock", "ours is %v %s the service's, so iat in the token is off by that", skew.Abs(), side)
}

// checkAccess tells what the service lets the token do.
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
			return ok("the service accepts the tokens (role %s), and those for /admin/ may administrate", d.claims.Role)
		}
		return ok("the service accepts the token, which may administrate (role %s)", d.claims.Role)
	case e != nil && (e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized):
		return warning("have tokens signed with the role admin if categories are to be made (--unsupported create)",
			"the service accepts the token, which may not administrate (role %s): assets and folders can be sent, categories cannot be made", d.claims.Role)
	case absent(d.admin):
		return warning("see that the base address is that of the API", "the service accepts the token, but has no routes for administrators")
	}
	return d.broken(d.admin)
}

// absent reports whether a service does not have a route.
func absent(err error) bool {
	e, ok := errors.AsType[*assets.Error](err)
	return errors.Is(err, fs.ErrNotExist) || ok && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

// without says why something at the service cannot be looked at, if that is so.
func (d *Doctor) without() (f Finding, is bool) {
	switch {
	case !d.met:
		return unchecked("the service was not asked"), true
	case !d.answered():
		return unchecked("the service does not answer"), true
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
		return failed("check --workspace, and the workspaces that the token names", "the token does not see the workspace %s, but %s", d.Workspace(), ui.Counted(int64(len(all)), "other one"))
	}
	f := ok("%q, of %s that the token sees", all[at].Name, ui.Counted(int64(len(all)), "workspace")).with(event.Fact{Name: "ID", Value: all[at].ID})
	if d.To.Workspace == "" && len(all) > 1 {
		f.Facts = append(f.Facts, event.Fact{Name: "chosen", Value: "the default one; --workspace names another"})
	}
	return f
}

// Workspace is the one that a run would write to: as the service does, the first that
// the token lists is the default.
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
		return unchecked("the service does not tell its limits")
	case err != nil:
		return d.broken(err)
	}
	facts := []event.Fact{{Name: "plan", Value: cmp.Or(l.Plan, "not told")}, {Name: "largest file", Value: "not told"}, {Name: "largest image", Value: "not told"}}
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
		return failed("make room at the service, or choose a larger plan: until then uploads are refused, and files may not be served",
			"the %s of the plan is used up", strings.Join(used, " and the ")).with(facts...)
	}
	return ok("storage and bandwidth of the plan are not used up").with(facts...)
}

// checkCategories lists the categories with their extensions, which decide what can be
// sent.
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
		return warning("", "there is none yet; --unsupported create makes those that are needed")
	case total == 0:
		return failed("make one in the service, or have them made with --unsupported create", "there is none, so nothing can be sent")
	case named != "" && seen[named] == 0 && !creates:
		return failed("check the name, or have it made with --unsupported create", "there is no category %q, which everything is to go into", named)
	case len(left) > 0:
		return warning("delete it in the service; nothing in it is of any use", "a probe that was killed left %s", strings.Join(left, ", "))
	case len(equal) > 0:
		return warning("rename all but one of them", "several have the same name: %s; the oldest is used", strings.Join(equal, ", "))
	}
	return ok("%s, with the extensions that each allows", categories(total))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func categories(n int) string {
	return ui.CountedAs(int64(n), "category", "categories")
}
