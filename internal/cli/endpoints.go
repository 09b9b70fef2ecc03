package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/diskspace"
	"assetferry/internal/metadata"
	"assetferry/internal/private"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// endpoints are a source, a destination and the journal between them, opened.
type endpoints struct {
	source  sources.Source
	address string // of the source, whatever its name in the journal
	dest    *destination
	journal *state.Store
	pair    state.Pair
	rules   migrate.Rules
	asked   asked

	metadata *metadata.Table     // nil if there is none
	tableSum string              // the checksum of its file
	approved *approvedPlan       // that is carried out, nil if it is none
	settings map[string][]string // see settingsOfRun
	standing string              // hash of the rules of a sync that needs an approval; empty for all else
}

// openEndpoints opens everything that plan and migrate need, cheapest first, so
// that a mistyped path is told before anybody is asked for anything.
// The rules are those of the approved plan if there is one.
func (a *app) openEndpoints(ctx context.Context, cmd *cobra.Command, address string, approved *approvedPlan, o syncOptions, readOnly bool) (s *endpoints, err error) {
	s = &endpoints{approved: approved, settings: a.settingsOfRun(cmd)}
	if approved != nil {
		s.rules = approved.adopt(a)
	} else if s.rules, err = a.rules(cmd); err != nil {
		return nil, err
	}
	listed, source, err := a.openSource(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	if s.metadata, err = a.openMetadata(); err != nil {
		return nil, err
	}
	if s.tableSum, err = a.metadataChecksum(); err != nil {
		return nil, err
	}
	if err := approved.hasTable(s.tableSum); err != nil {
		return nil, err
	}
	if s.dest, err = a.openPermitted(ctx, readOnly, s.subject(ctx, a, listed, source, o)); err != nil {
		return nil, err
	}
	if err := approved.isFor(s.dest); err != nil {
		return nil, err
	}
	path, err := a.greet(ctx, s.dest)
	if err != nil {
		return nil, err
	}
	own := a.ownFiles(s.dest, path)
	if a.loop != nil {
		a.loop.Ignore(own)
	}
	if s.source, s.address, err = a.openSource(ctx, address, own); err != nil {
		return nil, err
	}
	if err := s.notItself(); err != nil {
		return nil, err
	}
	a.tellLoss(path)
	if s.journal, err = a.openJournal(ctx, path); err != nil {
		return nil, err
	}
	if s.pair, err = s.journal.Pair(ctx, cmp.Or(a.settings.SourceName, s.address), s.dest.identity(), s.dest.url); err != nil {
		return nil, err
	}
	a.startMeter(ctx, s.dest, s.journal)
	if err := s.notePurpose(ctx); err != nil {
		return nil, err
	}
	if s.asked, err = a.asks(s.address); err != nil {
		return nil, err
	}
	rules := s.rules
	if s.source, err = a.complete(ctx, &rules, s.source); err != nil { // the first that is asked of a bucket
		return nil, err
	}
	if approved == nil {
		s.rules = rules
		return s, nil
	}
	return s, approved.describesBy(rules)
}

// complete adds to rules what only the source tells, and the hashes of the mapping. It returns
// the source as what it was recognised as.
func (a *app) complete(ctx context.Context, rules *migrate.Rules, source sources.Source) (sources.Source, error) {
	source, err := recognise(ctx, source)
	if err != nil {
		return nil, err
	}
	a.trusts(source)
	a.followsCategories(rules, source)
	rules.Mapping, rules.Places = a.digests()
	return source, nil
}

// subject is what is about to be done, for an approval.
func (s *endpoints) subject(ctx context.Context, a *app, source sources.Source, address string, o syncOptions) subject {
	switch {
	case s.approved != nil:
		return s.approved.subject(a.settings.Provenance)
	case o.on:
		rules := func() (migrate.Rules, error) { // asks the source, so only if an approval is needed
			rules := s.rules
			if _, err := a.complete(ctx, &rules, source); err != nil {
				return rules, err
			}
			rules.Sync = a.settingsOfSync(o)
			rules = rules.Standing()
			var err error
			s.standing, err = rules.Hash()
			return rules, err
		}
		return a.syncSubject(cmp.Or(a.settings.SourceName, address), address, rules, o)
	}
	return subject{none: "migrate has no plan that could be approved", sendsNothing: a.called.Name() == "adopt"}
}

// sameRules makes sure that the rules of a sync are those that were held against its approval.
func (s *endpoints) sameRules() error {
	if s.standing == "" {
		return nil
	}
	if hash, err := s.rules.Standing().Hash(); err != nil || hash != s.standing {
		return errors.Join(errors.New("the rules changed while the source was opened; nothing was sent"), err)
	}
	return nil
}

// notePurpose has the journal know whether this is a rehearsal, for reports.
func (s *endpoints) notePurpose(ctx context.Context) error {
	purpose := state.Production
	if s.dest.client.IsSandbox() {
		purpose = state.Rehearsal
	}
	if s.pair.Purpose == purpose {
		return nil
	}
	s.pair.Purpose = purpose
	return s.journal.SavePurpose(ctx, s.pair.ID, purpose)
}

// greet makes the first contact with a destination, within its budget, and gives the
// path of its journal.
func (a *app) greet(ctx context.Context, d *destination) (journal string, err error) {
	if journal, err = a.journalPath(d); err != nil {
		return "", err
	}
	if err := a.loadBudget(ctx, d, journal); err != nil {
		return "", err
	}
	return journal, d.greet(ctx)
}

// openJournal opens a journal until the command is over. One whose files somebody
// touched is taken over, unless what it would send is sent beside whatever is there.
func (a *app) openJournal(ctx context.Context, path string) (*state.Store, error) {
	a.tellRoom(path)
	if err := a.secureState(path); err != nil {
		return nil, err
	}
	journal, err := state.Open(ctx, path)
	if e, ok := errors.AsType[*ownership.DistrustError](err); ok && e.Touched && a.settings.OnExisting != "duplicate" {
		a.out.Notef("The files of the journal were changed by something else since it was closed. It may be a copy, so what it remembers of the destination is looked at again.")
		if err := state.Takeover(ctx, path); err != nil {
			return nil, err
		}
		journal, err = state.Open(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	a.closeLater(journal.Close)
	return journal, nil
}

// secureState closes files of the state database that are open to other accounts, and says
// so.
func (a *app) secureState(path string) error {
	return a.noteRepaired(ownership.Secure(path))
}

// noteRepaired says which files were closed to other accounts.
func (a *app) noteRepaired(paths []string, err error) error {
	if len(paths) > 0 {
		a.out.Notef("%s", ui.Sanitize(private.Repaired(paths)))
	}
	return err
}

// tellRoom says, before anything begins, that the disk of a journal is small for it.
func (a *app) tellRoom(path string) {
	free, err := diskspace.Free(diskspace.Nearest(path))
	if err != nil {
		return // doctor says that it is not known
	}
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if say := scarceRoom(free, size); say != "" {
		a.out.Notef("%s", say)
		a.out.Notef("Try: make room, or name another place with --state")
	}
}

// scarceRoom says what a journal of a size takes beside it, if more than is free: its
// write-ahead log, and a backup of itself.
func scarceRoom(free, size int64) string {
	if free >= state.LogRoom+size {
		return ""
	}
	say := fmt.Sprintf("The disk of the journal has %s free. While a run is at work, its write-ahead log takes up to %s there", ui.Bytes(free), ui.Bytes(state.LogRoom))
	if size > 0 {
		say += fmt.Sprintf(", and its backup another %s", ui.Bytes(size))
	}
	return say + "."
}

// tellLoss says that a journal is gone of which there is a backup. Of a file that is
// there and empty, opening it says more.
func (a *app) tellLoss(path string) {
	backup := disk.BackupPath(path)
	if _, err := os.Stat(path); err == nil {
		return
	}
	if _, err := os.Stat(backup); err == nil {
		a.out.Notef("There is no journal any more, but a backup of one: %s", ui.Sanitize(backup))
		a.out.Notef("A new one is begun, and what is at the destination is taken over; assetferry help journal tells how to restore the backup instead.")
	}
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
	rules, err := json.Marshal(storedRules{s.rules, s.settings, s.asked})
	if err != nil {
		return state.Run{}, err
	}
	run, err := s.journal.Begin(ctx, s.pair, command, rules)
	if err != nil || command != "apply" {
		return run, err
	}
	if err := s.journal.SetApprovedPlan(ctx, run.Num, s.approved.Hash); err != nil {
		return run, err
	}
	return s.journal.Run(ctx, run.ID)
}

func (s *endpoints) deps(a *app, w migrate.Observer) migrate.Deps {
	d := migrate.Deps{
		Source: s.source, Dest: s.dest.client, Journal: s.journal, Watch: w, Log: a.out.Log(),
		Now: s.dest.now, Mapping: a.settings.NewMapping(),
	}
	if s.metadata != nil {
		d.Describer = s.metadata
	}
	return d
}

// digests are those of the mapping, and of what in it says where objects go.
func (a *app) digests() (all, places string) {
	m := a.settings.NewMapping()
	return m.Digest(), m.PlaceDigest()
}

// now is the server's clock, as far as its answers told it.
func (d *destination) now() time.Time {
	skew, _ := d.client.Skew()
	return clock.Now().Add(skew)
}

// journalPath is where the journal of a destination is.
func (a *app) journalPath(d *destination) (string, error) {
	if a.settings.State != "" {
		return filepath.Abs(a.settings.State)
	}
	return config.DefaultState(a.lookup, d.environment, d.workspace)
}

// ownFiles names what must not be taken for a part of the source: what we write
// ourselves, and what opens the destination, which is no place for it.
func (a *app) ownFiles(d *destination, journal string) []string {
	own := disk.Files(journal)
	if d.embedded {
		own = append(own, d.dir)
	}
	for _, f := range append(d.secrets, a.settings.File, a.settings.LogFile, a.settings.Metadata, a.settings.Metrics, a.settings.NotifyFile, a.settings.Approval, a.planFile) {
		if f != "" {
			own = append(own, f)
		}
	}
	for i, f := range own {
		if abs, err := filepath.Abs(f); err == nil {
			own[i] = abs
		}
	}
	return own
}

// rules puts together what shapes the plan.
func (a *app) rules(cmd *cobra.Command) (migrate.Rules, error) {
	c := a.settings
	r := migrate.Rules{
		Include: c.Include, Exclude: c.Exclude, MinAge: c.MinAge, Symlinks: c.Symlinks,
		CategoryBy: c.CategoryBy, Category: c.Category, Unmatched: c.Unmatched,
		OnCollision: c.OnCollision, OnExisting: c.OnExisting,
	}
	if err := a.fallbackRule(&r); err != nil {
		return r, err
	}
	r.Mapping, r.Places = a.digests()
	if c.Duplicates != "keep" { // which is no rule, so that runs of earlier versions have the same ones
		r.Duplicates = c.Duplicates
	}
	for _, glob := range append(append([]string{}, r.Include...), r.Exclude...) {
		if err := migrate.CheckGlob(glob); err != nil {
			return r, usage(err, "*, ? and [a-z] match within a name, ** matches any folders")
		}
	}
	err := a.oneCategoryRule(&r)
	if err != nil {
		return r, err
	}
	if cmd.Flags().Lookup("limit") != nil {
		if r.Limit, err = cmd.Flags().GetInt("limit"); err != nil || r.Limit < 1 && cmd.Flags().Changed("limit") {
			return r, usage(errors.New("--limit must be at least 1"), "leave it out for no limit")
		}
	}
	if name, _ := cmd.Flags().GetString("files-from"); name != "" {
		r.FilesFrom, err = a.readKeys(name)
	}
	return r, err
}

// oneCategoryRule lets one of two rules that contradict each other have its way:
// the one that was given more immediately.
func (a *app) oneCategoryRule(r *migrate.Rules) error {
	named, by := a.settings.Origin("category"), a.settings.Origin("category_by")
	switch {
	case named == config.FromDefault || by == config.FromDefault:
	case named > by:
		r.CategoryBy = "extension"
	case by > named:
		r.Category = ""
	default:
		return usage(errors.New("--category and --category-by exclude each other"), "leave one of them out")
	}
	return nil
}

// readKeys reads a list of keys, one a line.
func (a *app) readKeys(name string) (*migrate.KeyList, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage(fmt.Errorf("read --files-from: %w", err), "")
		}
		defer f.Close()
		in = f
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
		return nil, usage(fmt.Errorf("read --files-from: %w", err), "one key a line, relative to the source")
	}
	if len(keys) == 0 {
		return nil, usage(fmt.Errorf("--files-from %s names no key", name), "one key a line, relative to the source")
	}
	return migrate.NewKeyList(keys), nil
}

// fallbackRule adds the fallback category to rules. It means something only where files that
// no category allows are created; a flag that means nothing is a mistake, a setting is kept
// for the runs that create them.
func (a *app) fallbackRule(r *migrate.Rules) error {
	switch c := a.settings; {
	case c.FallbackCategory != "" && !migrate.IsCategoryName(c.FallbackCategory):
		return usage(errors.New("--fallback-category: not the name of a category"), "name one with 1 to 256 characters, not all of them spaces")
	case c.Unmatched == "create":
		r.FallbackCategory = c.FallbackCategory
	case c.Origin("fallback_category") == config.FromFlag:
		return usage(fmt.Errorf("--fallback-category needs --unmatched create; it is %s", c.Unmatched), "add --unmatched create")
	}
	return nil
}
