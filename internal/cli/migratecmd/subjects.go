package migratecmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/approval"
	"assetferry/internal/cli/command"
	"assetferry/migrate"
	"assetferry/sources/s3"
	"assetferry/sources/table"
)

// subject returns the plan as the subject of an approval.
func (p *approvedPlan) subject(provenance string) command.Subject {
	planner, wave := p.Noted.PlannedBy, ""
	if of := p.Head.Rules.Wave; of != nil {
		wave = of.Name
	}
	if planner == "" {
		return command.Subject{None: "the plan does not name the account that made it"}
	}
	return command.Subject{
		Fill: func(r *approval.Request) error {
			r.Kind, r.Source, r.SourceURL, r.PlannedBy = approval.KindPlan, approval.Text(p.Head.Source), approval.Text(p.Head.SourceLocation), planner
			r.Plan = &approval.PlanRequest{Hash: p.Hash, Run: p.Noted.Run, Wave: approval.Text(wave), Actions: p.Actions, Provenance: provenance}
			return nil
		},
		Covers: func(r approval.Request) (differs []string, err error) {
			switch {
			case r.Kind != approval.KindPlan:
				return []string{"a " + r.Kind}, nil
			case r.Plan.Hash != p.Hash, string(r.Source) != p.Head.Source, string(r.SourceURL) != p.Head.SourceLocation:
				return []string{"another plan"}, nil
			case r.PlannedBy != planner, string(r.Plan.Wave) != wave, !maps.Equal(r.Plan.Actions, p.Actions):
				return []string{"it does not match the plan"}, nil
			case r.Plan.Provenance != provenance:
				return []string{fmt.Sprintf("--provenance is %s, approved is %s", provenance, r.Plan.Provenance)}, nil
			}
			return nil, nil
		},
	}
}

// undoSubject returns the undo of a run as the subject of an approval.
func undoSubject(run string) command.Subject {
	return command.Subject{
		Acts: []string{"--apply"},
		Fill: func(r *approval.Request) error { r.Kind, r.Run = approval.KindUndo, run; return nil },
		Covers: func(r approval.Request) ([]string, error) {
			switch {
			case r.Kind != approval.KindUndo:
				return []string{"a " + r.Kind}, nil
			case r.Run != run:
				return []string{"the undo of run " + r.Run}, nil
			}
			return nil, nil
		},
	}
}

// syncSubject returns a sync with its rules and limits as the subject of a standing approval. It
// reads the rules only if an approval is needed.
func syncSubject(f *command.Factory, source, url string, ruled func() (migrate.Rules, error), o SyncOptions) command.Subject {
	now := func() (*approval.SyncRequest, error) {
		rules, err := ruled()
		if err != nil {
			return nil, err
		}
		hash, err := rules.Hash()
		g := safetyChecks(f, o)
		return &approval.SyncRequest{
			RulesHash: hash, Rules: slices.Concat(rules.Lines(), describingLines(f), reachingLines(f, url)), Mapping: f.Settings.Mapping.Lines(),
			Limits: approval.Limits{
				MaxDelete: g.MaxDelete, MaxDeletePercent: g.MaxDeletePercent, AcceptDeletes: g.AcceptDeletes,
				MaxChanges: g.MaxChanges, MaxChangesPercent: g.MaxChangesPercent, AcceptChanges: g.AcceptChanges, AcceptRules: g.AcceptRules, Sentinel: string(g.Sentinel),
			},
		}, err
	}
	return command.Subject{
		Fill: func(r *approval.Request) (err error) {
			r.Kind, r.Source, r.SourceURL = approval.KindSync, approval.Text(source), approval.Text(url)
			r.Sync, err = now()
			return err
		},
		Covers: func(r approval.Request) (differs []string, err error) {
			if r.Kind != approval.KindSync {
				return []string{"a " + r.Kind}, nil
			}
			is, err := now()
			if err != nil {
				return nil, err
			}
			if string(r.Source) != source || string(r.SourceURL) != url {
				differs = append(differs, "another source, "+string(r.SourceURL))
			}
			if r.Sync.RulesHash != is.RulesHash || !slices.Equal(r.Sync.Rules, is.Rules) || !slices.Equal(r.Sync.Mapping, is.Mapping) {
				differs = append(differs, "other rules"+otherLines(is, r.Sync))
			}
			return append(differs, is.Limits.Looser(r.Sync.Limits)...), nil
		},
	}
}

// describingLines returns the settings for metadata. The rules have only their hash.
func describingLines(f *command.Factory) []string {
	c := f.Settings
	lines := []string{fmt.Sprintf("precedence: %v", c.Precedence), "gps: " + c.GPS, "on_limit: " + c.OnLimit, "provenance: " + c.Provenance}
	if len(c.Ignored) > 0 {
		lines = append(lines, fmt.Sprintf("ignore_metadata: %v", c.Ignored))
	}
	if c.Metadata != "" {
		lines = append(lines, "metadata: "+c.Metadata)
	}
	if c.Collections != "" {
		lines = append(lines, "collections: "+c.Collections, "collections_as: "+c.CollectionsAs, "collection_prefix: "+c.CollectionPrefix)
	}
	return lines
}

// reachingLines returns the settings that decide what the URL of a source leads to.
func reachingLines(f *command.Factory, url string) (lines []string) {
	c := f.Settings
	switch {
	case strings.HasPrefix(url, s3.Scheme+"://"):
		endpoint := c.Endpoint
		for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} { // the AWS SDK reads them
			if value, _ := f.Lookup(name); endpoint == "" {
				endpoint = value
			}
		}
		if endpoint != "" {
			lines = append(lines, "endpoint: "+endpoint)
		}
	case strings.HasPrefix(url, table.Scheme+":"):
		if c.TableRoot != "" {
			lines = append(lines, "table_root: "+c.TableRoot)
		}
		if len(c.TableColumns) > 0 {
			lines = append(lines, fmt.Sprintf("table_columns: %q", c.TableColumns))
		}
	case strings.HasPrefix(url, "wordpress+"):
		lines = append(lines, "wordpress_folders: "+c.WordPressFolders)
	}
	return lines
}

// otherLines returns the rules that were not approved.
func otherLines(is, approved *approval.SyncRequest) string {
	var other []string
	for _, line := range slices.Concat(is.Rules, is.Mapping) {
		if !slices.Contains(approved.Rules, line) && !slices.Contains(approved.Mapping, line) {
			other = append(other, strings.TrimSpace(line))
		}
	}
	if len(other) == 0 {
		return ""
	}
	return " (now " + strings.Join(other, ", ") + ")"
}
