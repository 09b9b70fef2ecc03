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

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/config"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/state"
)

// endpoints are a source, a destination and the journal between them, opened.
type endpoints struct {
	source  sources.Source
	address string // of the source, whatever its name in the journal
	dest    *command.Destination
	store   *state.Store
	pair    state.Pair
	rules   migrate.Rules
	asked   outcome.Asked

	metadata *metadata.Table     // nil if there is none
	tableSum string              // the checksum of its file
	approved *approvedPlan       // that is carried out, nil if it is none
	settings map[string][]string // see SettingsOfRun
	standing string              // hash of the rules of a sync that needs an approval; empty for all else
}

// openEndpoints opens everything that plan and migrate need, cheapest first, so
// that a mistyped path is told before anybody is asked for anything.
// The rules are those of the approved plan if there is one.
func openEndpoints(ctx context.Context, f *command.Factory, cmd *cobra.Command, address string, approved *approvedPlan, o SyncOptions, readOnly bool) (s *endpoints, err error) {
	s = &endpoints{approved: approved, settings: outcome.SettingsOfRun(f, cmd)}
	if approved != nil {
		s.rules = approved.adopt(f)
	} else if s.rules, err = PlanRules(f, cmd); err != nil {
		return nil, err
	}
	listed, source, err := f.OpenSource(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	if err := s.openMetadata(f); err != nil {
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
	if s.source, s.address, err = f.OpenSource(ctx, address, own); err != nil {
		return nil, err
	}
	if err := s.notItself(); err != nil {
		return nil, err
	}
	f.PrintLoss(path)
	if s.store, err = f.OpenState(ctx, path); err != nil {
		return nil, err
	}
	if s.pair, err = s.store.Pair(ctx, cmp.Or(f.Settings.SourceName, s.address), s.dest.Identity(), s.dest.URL); err != nil {
		return nil, err
	}
	f.StartMeter(ctx, s.dest, s.store)
	if err := s.notePurpose(ctx); err != nil {
		return nil, err
	}
	if s.asked, err = outcome.Asks(f, s.address); err != nil {
		return nil, err
	}
	rules := s.rules
	if s.source, err = complete(ctx, f, &rules, s.source); err != nil { // the first that is asked of a bucket
		return nil, err
	}
	if approved == nil {
		s.rules = rules
		return s, nil
	}
	return s, approved.describesBy(rules)
}

// openMetadata opens the metadata table, which is that of the approved plan if there is one.
func (s *endpoints) openMetadata(f *command.Factory) (err error) {
	if s.metadata, err = openMetadata(f); err != nil {
		return err
	}
	if s.tableSum, err = metadataChecksum(f); err != nil {
		return err
	}
	return s.approved.hasTable(s.tableSum)
}

// complete adds to rules what only the source tells, and the hashes of the mapping. It returns
// the source as what it was recognised as.
func complete(ctx context.Context, f *command.Factory, rules *migrate.Rules, source sources.Source) (sources.Source, error) {
	source, err := command.Recognise(ctx, source)
	if err != nil {
		return nil, err
	}
	trusts(f, source)
	f.FollowsCategories(rules, source)
	rules.Mapping, rules.Places = mappingChecksums(f)
	return source, nil
}

// subject is what is about to be done, for an approval.
func (s *endpoints) subject(ctx context.Context, f *command.Factory, source sources.Source, address string, o SyncOptions) command.Subject {
	switch {
	case s.approved != nil:
		return s.approved.subject(f.Settings.Provenance)
	case o.on:
		rules := func() (migrate.Rules, error) { // asks the source, so only if an approval is needed
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
		return syncSubject(f, cmp.Or(f.Settings.SourceName, address), address, rules, o)
	}
	return command.Subject{None: "migrate has no plan that could be approved", SendsNothing: f.Called.Name() == "adopt"}
}

// sameRules makes sure that the rules of a sync are those that were held against its approval.
func (s *endpoints) sameRules() error {
	if s.standing == "" {
		return nil
	}
	if hash, err := s.rules.Stable().Hash(); err != nil || hash != s.standing {
		return errors.Join(errors.New("the rules changed while the source was opened; nothing was sent"), err)
	}
	return nil
}

// notePurpose has the journal know whether this is a rehearsal, for reports.
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

// command is the one that carries out what the rules ask for.
func (s *endpoints) command() string {
	switch {
	case s.rules.Sync != nil:
		return "sync"
	case s.rules.AdoptOnly:
		return "adopt"
	}
	return "migrate"
}

// adoptOnly makes a plan that sends nothing.
func (s *endpoints) adoptOnly() { s.rules.AdoptOnly = true }

// begin begins a run under the rules.
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
	if s.metadata != nil {
		d.Describer = s.metadata
	}
	return d
}

// mappingChecksums are those of the mapping, and of what in it says where objects go.
func mappingChecksums(f *command.Factory) (all, places string) {
	m := f.Settings.NewMapping()
	return m.Checksum(), m.PlaceChecksum()
}

// PlanRules puts together what shapes the plan.
func PlanRules(f *command.Factory, cmd *cobra.Command) (migrate.Rules, error) {
	c := f.Settings
	r := migrate.Rules{
		Include: c.Include, Exclude: c.Exclude, MinAge: c.MinAge, Symlinks: c.Symlinks,
		CategoryBy: c.CategoryBy, Category: c.Category, Unsupported: c.Unsupported,
		OnCollision: c.OnCollision, OnExisting: c.OnExisting,
	}
	if err := fallbackRule(f, &r); err != nil {
		return r, err
	}
	r.Mapping, r.Places = mappingChecksums(f)
	if c.Duplicates != "keep" { // which is no rule, so that runs of earlier versions have the same ones
		r.Duplicates = c.Duplicates
	}
	for _, glob := range append(append([]string{}, r.Include...), r.Exclude...) {
		if err := migrate.CheckGlob(glob); err != nil {
			return r, exit.Usage(err, "*, ? and [a-z] match within a name, ** matches any folders")
		}
	}
	err := oneCategoryRule(f, &r)
	if err != nil {
		return r, err
	}
	if cmd.Flags().Lookup("limit") != nil {
		if r.Limit, err = cmd.Flags().GetInt("limit"); err != nil || r.Limit < 1 && cmd.Flags().Changed("limit") {
			return r, exit.Usage(errors.New("--limit must be at least 1"), "leave it out for no limit")
		}
	}
	if name, _ := cmd.Flags().GetString("files-from"); name != "" {
		r.FilesFrom, err = readKeys(f, name)
	}
	return r, err
}

// oneCategoryRule lets one of two rules that contradict each other have its way:
// the one that was given more immediately.
func oneCategoryRule(f *command.Factory, r *migrate.Rules) error {
	named, by := f.Settings.SourceOf("category"), f.Settings.SourceOf("category_by")
	switch {
	case named == config.FromDefault || by == config.FromDefault:
	case named > by:
		r.CategoryBy = "extension"
	case by > named:
		r.Category = ""
	default:
		return exit.Usage(errors.New("--category and --category-by exclude each other"), "leave one of them out")
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
		return nil, exit.Usage(fmt.Errorf("--files-from %s names no key", name), "one key a line, relative to the source")
	}
	return migrate.NewKeyList(keys), nil
}

// fallbackRule adds the fallback category to rules. It means something only where files that
// no category allows are created; a flag that means nothing is a mistake, a setting is kept
// for the runs that create them.
func fallbackRule(f *command.Factory, r *migrate.Rules) error {
	switch c := f.Settings; {
	case c.FallbackCategory != "" && !migrate.IsCategoryName(c.FallbackCategory):
		return exit.Usage(errors.New("--fallback-category: not the name of a category"), "name one with 1 to 256 characters, not all of them spaces")
	case c.Unsupported == "create":
		r.FallbackCategory = c.FallbackCategory
	case c.SourceOf("fallback_category") == config.FromFlag:
		return exit.Usage(fmt.Errorf("--fallback-category needs --unsupported create; it is %s", c.Unsupported), "add --unsupported create")
	}
	return nil
}

// notItself refuses to read a workspace and write into the same one: every asset would be
// there twice.
func (s *endpoints) notItself() error {
	if from, ok := s.source.(*ckbox.Source); !ok || from.Identity() != command.Library(s.dest).Identity() {
		return nil
	}
	return exit.Usage(errors.New("source and destination are the same workspace of the same environment"),
		"name another one, with --to and --workspace or in the address of the source")
}
