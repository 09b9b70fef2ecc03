package assets_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/assets/assettest"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/openapitest"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
)

const (
	environment = "env4567890123456789x"
	accessKey   = "an access key that is as long as the real ones"
)

func newSandbox(t testing.TB, o sandbox.Options) string {
	t.Helper()
	base, _ := newCheckedSandbox(t, o)
	return base
}

// newCheckedSandbox also returns the checker, which records the called operations.
func newCheckedSandbox(t testing.TB, o sandbox.Options) (string, *openapitest.Checker) {
	t.Helper()
	o.Environments = []tokens.Environment{{ID: environment, AccessKey: accessKey}}
	s := sandboxtest.Run(t, o)
	return s.URL, s.Checker
}

func newClient(t testing.TB, base string, claims token.Claims, key token.Secret, o assets.Options) *assets.Client {
	t.Helper()
	minter, err := token.NewMinter(key, claims)
	if err != nil {
		t.Fatal(err)
	}
	o.BaseURL, o.Tokens, o.Workspace = base, minter, claims.Workspace
	c, err := assets.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestLaw runs the law on the stand-in: in its default workspace with the default reading of
// undocumented behaviour, in a new workspace with the other reading, and in both with -reading if
// that is given. It also runs on a real service if the environment names one, in a new workspace or
// in the named one.
func TestLaw(t *testing.T) {
	t.Run("sandbox", func(t *testing.T) {
		called := testLawOfSandbox(t, func(_ *testing.T, c assettest.NewClient) assettest.NewClient { return c }, sandboxtest.Reading(0))
		checkCalled(t, called)
	})
	t.Run("scratch workspace", func(t *testing.T) { testLawOfSandbox(t, assettest.InScratchWorkspace, sandboxtest.Reading(1)) })
	base := os.Getenv("ASSETFERRY_LAW_URL")
	if base == "" {
		return
	}
	t.Run("service", func(t *testing.T) {
		workspace := os.Getenv("ASSETFERRY_LAW_WORKSPACE_ID")
		client := func(t testing.TB, as assettest.Caller) *assets.Client {
			return newClient(t, base, token.Claims{
				Environment: os.Getenv("ASSETFERRY_LAW_ENVIRONMENT_ID"),
				Workspace:   cmp.Or(as.Workspace, workspace),
				Service:     cmp.Or(as.Service, os.Getenv("ASSETFERRY_LAW_SERVICE")),
				Role:        as.Role, Groups: as.Groups,
			}, token.NewSecret(os.Getenv("ASSETFERRY_LAW_ACCESS_KEY")), assets.Options{})
		}
		if workspace == "" {
			client = assettest.InScratchWorkspace(t, client)
		}
		assettest.Run(t, client)
	})
}

// testLawOfSandbox also verifies that the law leaves no objects behind.
func testLawOfSandbox(t *testing.T, within func(*testing.T, assettest.NewClient) assettest.NewClient, reading string) *openapitest.Checker {
	t.Helper()
	base, called := newCheckedSandbox(t, sandbox.Options{Profile: sandboxtest.Read(t, reading)})
	client := func(t testing.TB, as assettest.Caller) *assets.Client {
		claims := token.Claims{Environment: environment, Workspace: as.Workspace, Service: as.Service, Role: as.Role, Groups: as.Groups}
		return newClient(t, base, claims, token.NewSecret(accessKey), assets.Options{})
	}
	owner := client(t, assettest.Caller{Role: "superadmin"})
	before := contentsOf(t, owner)
	t.Run("law", func(t *testing.T) { assettest.Run(t, within(t, client)) })
	t.Run("older installations", func(t *testing.T) { testOlderWorkspaces(t, base) })
	if after := contentsOf(t, owner); after != before {
		t.Errorf("the law left something behind: %s, at first %s", after, before)
	}
	return called
}

// contentsOf describes the contents of an environment and its default workspace.
func contentsOf(t *testing.T, c *assets.Client) string {
	t.Helper()
	folders, err := c.Folders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	workspaces, err := c.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	groups, err := c.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d workspaces, %d groups, %d categories, %d folders, %d assets in the trash, %d recent ones",
		len(workspaces), len(groups), count(t, c.Categories(t.Context())), len(folders), count(t, c.Trashed(t.Context())), count(t, c.Recent(t.Context())))
}

func count[T any](t *testing.T, items iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// checkCalled verifies that the law calls every operation of the service.
func checkCalled(t *testing.T, called *openapitest.Checker) {
	t.Helper()
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // only a part of the law ran
	}
	for _, op := range called.Operations() {
		if !slices.Contains(called.Called(), op) {
			t.Errorf("%s is never called", op)
		}
	}
}

// testOlderWorkspaces verifies that the client uses an older route if an installation lacks the
// newer ones.
func testOlderWorkspaces(t *testing.T, base string) {
	for _, newer := range [][]string{{}, {"/v3/workspaces"}, {"/v3/workspaces", "/v2/workspaces"}} {
		minter, err := token.NewMinter(token.NewSecret(accessKey), token.Claims{Environment: environment})
		if err != nil {
			t.Fatal(err)
		}
		c, err := assets.New(assets.Options{BaseURL: base, Tokens: minter, Transport: lacking(newer)})
		if err != nil {
			t.Fatal(err)
		}
		if all, err := c.Workspaces(t.Context()); err != nil || len(all) != 1 || all[0].ID != environment {
			t.Errorf("without %v: got %v, %v", newer, all, err)
		}
	}
}

// A lacking transport leads to a service without some routes.
type lacking []string

func (l lacking) RoundTrip(r *http.Request) (*http.Response, error) {
	if slices.Contains(l, r.URL.Path) {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestWorkspacesOfSandbox(t *testing.T) {
	base := newSandbox(t, sandbox.Options{})
	super := newClient(t, base, token.Claims{Environment: environment, Role: "superadmin"}, token.NewSecret(accessKey), assets.Options{})
	id, err := super.CreateWorkspace(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	all, err := super.Workspaces(t.Context())
	if err != nil || !slices.ContainsFunc(all, func(w assets.Workspace) bool { return w.ID == id && w.Name == "second" }) {
		t.Errorf("got %v, %v", all, err)
	}
	c := newClient(t, base, token.Claims{Environment: environment, Workspace: id}, token.NewSecret(accessKey), assets.Options{})
	if _, err := c.CreateCategory(t.Context(), assets.NewCategory{Name: "there", Extensions: []string{"txt"}}); err != nil {
		t.Error(err)
	}
	for category, err := range super.Categories(t.Context()) {
		if err != nil || category.Name == "there" {
			t.Errorf("default workspace: got %v, %v", category, err)
		}
	}
}

func TestWrongClock(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, 48 * time.Hour} {
		for _, compensate := range []bool{false, true} {
			t.Run(fmt.Sprint(skew, " ", compensate), func(t *testing.T) {
				base := newSandbox(t, sandbox.Options{ClockSkew: skew})
				c := newClient(t, base, token.Claims{Environment: environment}, token.NewSecret(accessKey), assets.Options{CompensateClock: compensate})
				began := time.Now()
				err := c.Ping(t.Context())
				took := time.Since(began)
				if (err == nil) != compensate {
					t.Errorf("got %v", err)
				}
				// The server may read its clock at any moment of the request, and reports whole
				// seconds.
				if got, known := c.Skew(); !known || (got-skew).Abs() > time.Second+took {
					t.Errorf("skew: got %v, %v, want %v", got, known, skew)
				}
				if e, ok := errors.AsType[*assets.Error](err); ok && (!e.IsAuth() || e.Hint() == "") {
					t.Errorf("got %+v", e)
				}
			})
		}
	}
}

func TestWrongKeyShowsNothing(t *testing.T) {
	base := newSandbox(t, sandbox.Options{})
	c := newClient(t, base, token.Claims{Environment: environment}, token.NewSecret("another key"), assets.Options{})
	err := c.Ping(t.Context())
	if !assets.IsAuth(err) || bytes.Contains([]byte(err.Error()), []byte("another key")) {
		t.Errorf("got %v", err)
	}
}
