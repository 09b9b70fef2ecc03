package migratecmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/metadata"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/state"
)

// endpoints are an open source, destination and state database.
type endpoints struct {
	source sources.Source
	url    string // path or URL of the source
	dest   *command.Destination
	store  *state.Store
	pair   state.Pair
	rules  migrate.Rules
	waves  migrate.Waves // of the configuration
	asked  outcome.Asked

	tables   metadata.Tables     // of the user
	tableSum string              // checksum of their files
	approved *approvedPlan       // nil if there is none
	settings map[string][]string // see SettingsOfRun
	standing string              // hash of the rules of a sync that needs an approval; else empty
}

// openEndpoints opens everything that plan and migrate need. The source comes first, so that a
// wrong path is reported before any request. An approved plan has its own rules.
func openEndpoints(ctx context.Context, f *command.Factory, cmd *cobra.Command, url string, approved *approvedPlan, o SyncOptions, readOnly bool) (s *endpoints, err error) {
	s = &endpoints{approved: approved, settings: outcome.SettingsOfRun(f, cmd)}
	if approved != nil {
		s.rules = approved.adopt(f)
	} else if s.rules, err = PlanRules(f, cmd, url); err != nil {
		return nil, err
	}
	if s.waves, err = f.Waves(); err != nil {
		return nil, err
	}
	listed, source, err := f.OpenSource(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	if err := s.openTables(f); err != nil {
		return nil, err
	}
	if s.dest, err = f.OpenPermitted(ctx, readOnly, s.subject(ctx, f, listed, source, o)); err != nil {
		return nil, err
	}
	if err := approved.isFor(s.dest); err != nil {
		return nil, err
	}
	path, err := f.Ping(ctx, s.dest)
	if err != nil {
		return nil, err
	}
	own := f.OwnFiles(s.dest, path)
	if f.Loop != nil {
		f.Loop.Ignore(own)
	}
	if s.source, s.url, err = f.OpenSource(ctx, url, own); err != nil {
		return nil, err
	}
	if err := s.notItself(); err != nil {
		return nil, err
	}
	if err := s.openState(ctx, f, path); err != nil {
		return nil, err
	}
	if s.asked, err = outcome.Asks(f, s.url); err != nil {
		return nil, err
	}
	if err := s.setDay(ctx, f, o.on); err != nil {
		return nil, err
	}
	rules := s.rules
	if s.source, err = complete(ctx, f, &rules, s.source); err != nil { // the first request to a bucket
		return nil, err
	}
	noteLack(f, s.source)
	if approved == nil {
		s.rules = rules
		return s, s.checkVersions()
	}
	return s, errors.Join(approved.describesBy(rules), s.checkVersions())
}

// openState opens the state database, and finds source and destination in it.
func (s *endpoints) openState(ctx context.Context, f *command.Factory, path string) (err error) {
	if path, err = f.ScratchState(ctx, path); err != nil {
		return err
	}
	f.PrintLoss(path)
	if s.store, err = f.OpenState(ctx, path); err != nil {
		return err
	}
	if s.pair, err = s.store.Pair(ctx, cmp.Or(f.Settings.SourceName, s.url), s.dest.Identity(), s.dest.URL); err != nil {
		return err
	}
	s.pair.Wave = s.rules.Wave.Label()
	f.StartMeter(ctx, s.dest, s.store)
	return s.notePurpose(ctx)
}

// openTables opens the tables of the user, which must be those of the approved plan if there is one.
func (s *endpoints) openTables(f *command.Factory) (err error) {
	if s.tables, err = openTables(f); err != nil {
		return err
	}
	if s.tableSum, err = metadataChecksum(f); err != nil {
		return err
	}
	return s.approved.hasTable(s.tableSum)
}

// complete adds to the rules the parts that depend on the source, and the hashes of the mapping.
// It returns the source with its recognised kind.
func complete(ctx context.Context, f *command.Factory, rules *migrate.Rules, source sources.Source) (sources.Source, error) {
	source, err := command.Recognise(ctx, source)
	if err != nil {
		return nil, err
	}
	IgnoreEmbedded(f, source.Traits().Complete)
	f.FollowsCategories(rules, source)
	rules.Mapping, rules.Places = mappingChecksums(f)
	if rules.Day = ""; f.Settings.NewMapping().UsesToday() {
		rules.Day = f.Settings.Today.Format(time.DateOnly)
	}
	return source, nil
}

// noteLack says that an export, as a source, is known to be incomplete.
func noteLack(f *command.Factory, source sources.Source) {
	if e, ok := source.(interface{ Failed() int64 }); ok && e.Failed() > 0 {
		f.Out.Notef("The source is an incomplete export: %s failed. assetferry export tries them again.", ui.Counted(e.Failed(), "asset"))
	}
}

// setDay sets today for mapping rules that depend on it: the day of the approved plan, that of the
// run that is resumed, or else the present day. A sync always uses the present day.
func (s *endpoints) setDay(ctx context.Context, f *command.Factory, sync bool) error {
	if !f.Settings.NewMapping().UsesToday() {
		return nil
	}
	f.Settings.Today = clock.Now()
	day := ""
	if s.approved != nil {
		day = s.approved.Head.Rules.Day
	} else if !sync {
		run, err := command.UnfinishedRun(ctx, s.store, s.pair)
		if err != nil || run.Num == 0 || run.State != state.Applying {
			return err
		}
		was, err := migrate.ReadRules(run)
		if err != nil {
			return err
		}
		day = was.Day
	}
	if was, err := time.Parse(time.DateOnly, day); err == nil {
		f.Settings.Today = was
	}
	return nil
}

// subject returns the subject of an approval for this command.
func (s *endpoints) subject(ctx context.Context, f *command.Factory, source sources.Source, url string, o SyncOptions) command.Subject {
	switch {
	case s.approved != nil:
		return s.approved.subject(f.Settings.Provenance)
	case o.on:
		rules := func() (migrate.Rules, error) { // makes requests, so only if an approval is needed
			rules := s.rules
			if _, err := complete(ctx, f, &rules, source); err != nil {
				return rules, err
			}
			rules.Sync = SettingsOfSync(f, o)
			rules = rules.Stable()
			var err error
			s.standing, err = rules.Hash()
			return rules, err
		}
		return syncSubject(f, cmp.Or(f.Settings.SourceName, url), url, rules, o)
	}
	return command.Subject{None: "migrate does not accept an approval", SendsNothing: f.Called.Name() == "adopt"}
}

// sameRules checks that the rules of a sync are still those of its approval.
func (s *endpoints) sameRules() error {
	if s.standing == "" {
		return nil
	}
	if hash, err := s.rules.Stable().Hash(); err != nil || hash != s.standing {
		return errors.Join(errors.New("the rules changed while the source was opened; nothing was uploaded"), err)
	}
	return nil
}

// notePurpose stores for reports whether the destination is a sandbox.
func (s *endpoints) notePurpose(ctx context.Context) error {
	purpose := state.Production
	if s.dest.Client.IsSandbox() {
		purpose = state.Sandbox
	}
	if s.pair.Purpose == purpose {
		return nil
	}
	s.pair.Purpose = purpose
	return s.store.SavePurpose(ctx, s.pair.ID, purpose)
}

// command returns the command that carries out the rules.
func (s *endpoints) command() string {
	switch {
	case s.rules.Sync != nil:
		return "sync"
	case s.rules.AdoptOnly:
		return "adopt"
	}
	return "migrate"
}

// adoptOnly limits the plan to adopting assets.
func (s *endpoints) adoptOnly() { s.rules.AdoptOnly = true }

// begin begins a run with the rules.
func (s *endpoints) begin(ctx context.Context, command string) (state.Run, error) {
	rules, err := json.Marshal(outcome.StoredRules{Rules: s.rules, Settings: s.settings, Asked: s.asked})
	if err != nil {
		return state.Run{}, err
	}
	run, err := s.store.Begin(ctx, s.pair, command, rules)
	if err != nil || command != "apply" {
		return run, err
	}
	if err := s.store.SetApprovedPlan(ctx, run.Num, s.approved.Hash); err != nil {
		return run, err
	}
	return s.store.Run(ctx, run.ID)
}

func (s *endpoints) deps(f *command.Factory, w migrate.Observer) migrate.Deps {
	d := migrate.Deps{
		Source: s.source, Dest: s.dest.Client, State: s.store, Watch: w, Log: f.Out.Log(),
		Now: s.dest.Now, Mapping: f.Settings.NewMapping(),
	}
	if s.tables != (metadata.Tables{}) {
		d.Describer = s.tables
	}
	return d
}

// mappingChecksums returns the checksums of the mapping, and of its rules for the placement.
func mappingChecksums(f *command.Factory) (all, places string) {
	m := f.Settings.NewMapping()
	return m.Checksum(), m.PlaceChecksum()
}

// accessTo returns how a WordPress site is read, and "" for other sources.
func accessTo(f *command.Factory, source string) (string, error) {
	if !strings.HasPrefix(source, "wordpress+") {
		return "", nil
	}
	_, password, err := f.Settings.WordPress()
	if err != nil || password.IsZero() {
		return migrate.Public, err
	}
	return migrate.ByPassword, nil
}

// PlanRules returns the rules that the settings and flags ask for, for a source.
func PlanRules(f *command.Factory, cmd *cobra.Command, source string) (migrate.Rules, error) {
	c := f.Settings
	r := migrate.Rules{
		Include: c.Include, Exclude: c.Exclude, MinAge: c.MinAge, Symlinks: c.Symlinks,
		CategoryBy: c.CategoryBy, Category: c.Category, Unsupported: c.Unsupported,
		OnCollision: c.OnCollision, OnExisting: c.OnExisting,
	}
	var err error
	if r.Wave, err = waveRule(f, cmd, source); err != nil {
		return r, err
	}
	if err := fallbackRule(f, &r); err != nil {
		return r, err
	}
	r.Mapping, r.Places = mappingChecksums(f)
	if c.Versions > 1 {
		r.Versions = c.Versions
	}
	if c.Duplicates != "keep" { // the default is no rule, as in runs of earlier versions
		r.Duplicates = c.Duplicates
	}
	for _, glob := range append(append([]string{}, r.Include...), r.Exclude...) {
		if err := migrate.CheckGlob(glob); err != nil {
			return r, exit.Usage(err, "*, ? and [a-z] match within a name, ** matches any folders")
		}
	}
	if err := oneCategoryRule(f, &r); err != nil {
		return r, err
	}
	if r.Access, err = accessTo(f, source); err != nil {
		return r, err
	}
	if cmd.Flags().Lookup("limit") != nil {
		if r.Limit, err = cmd.Flags().GetInt("limit"); err != nil || r.Limit < 1 && cmd.Flags().Changed("limit") {
			return r, exit.Usage(errors.New("--limit must be at least 1"), "omit it for no limit")
		}
	}
	if name, _ := cmd.Flags().GetString("files-from"); name != "" {
		r.FilesFrom, err = readKeys(f, name)
	}
	return r, err
}

// oneCategoryRule resolves a conflict of two rules by the precedence of their settings.
func oneCategoryRule(f *command.Factory, r *migrate.Rules) error {
	named, by := f.Settings.SourceOf("category"), f.Settings.SourceOf("category_by")
	switch {
	case named == config.FromDefault || by == config.FromDefault:
	case named > by:
		r.CategoryBy = "extension"
	case by > named:
		r.Category = ""
	default:
		return exit.Usage(errors.New("--category and --category-by cannot be used together"), "omit one of them")
	}
	return nil
}

// readKeys reads a list of keys, one a line.
func readKeys(f *command.Factory, name string) (*migrate.KeyList, error) {
	in := f.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("read --files-from: %w", err), "")
		}
		defer file.Close()
		in = file
	}
	var keys []sources.Key
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, sources.MaxKeyLength)
	for lines.Scan() {
		if line := strings.TrimSuffix(lines.Text(), "\r"); line != "" {
			keys = append(keys, sources.Key(strings.TrimPrefix(line, "./")))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, exit.Usage(fmt.Errorf("read --files-from: %w", err), "one key a line, relative to the source")
	}
	if len(keys) == 0 {
		return nil, exit.Usage(fmt.Errorf("--files-from %s has no key", name), "one key a line, relative to the source")
	}
	return migrate.NewKeyList(keys), nil
}

// fallbackRule adds the fallback category. It has an effect only if unsupported file types are
// created; a flag without effect is an error, a setting is not.
func fallbackRule(f *command.Factory, r *migrate.Rules) error {
	switch c := f.Settings; {
	case c.FallbackCategory != "" && !migrate.IsCategoryName(c.FallbackCategory):
		return exit.Usage(errors.New("--fallback-category: not a valid name of a category"), "use 1 to 256 characters, not only spaces")
	case c.Unsupported == "create":
		r.FallbackCategory = c.FallbackCategory
	case c.SourceOf("fallback_category") == config.FromFlag:
		return exit.Usage(fmt.Errorf("--fallback-category needs --unsupported create; it is set to %s", c.Unsupported), "add --unsupported create")
	}
	return nil
}

// notItself refuses to copy a workspace into itself: every asset would be duplicated.
func (s *endpoints) notItself() error {
	if from, ok := s.source.(*ckbox.Source); !ok || from.Identity() != command.Library(s.dest).Identity() {
		return nil
	}
	return exit.Usage(errors.New("source and destination are the same workspace of the same environment"),
		"use another workspace, with --to and --workspace or in the URL of the source")
}
