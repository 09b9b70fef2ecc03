// Package holdings lists which kind of data every column of the state database holds, in the words
// of the help, for the tests that compare the help and the schema with it.
package holdings

import (
	"slices"
	"strings"
)

// A Kind is a kind of data and the columns that hold it.
type Kind struct {
	Text    string              // how the help names it; empty for data about no person
	Columns map[string][]string // by table
}

// Has reports whether a column holds this kind of data.
func (k Kind) Has(table, column string) bool { return slices.Contains(k.Columns[table], column) }

// Kinds returns all kinds of data in a state database. A test of package state fails for a column
// that has no kind, or two.
func Kinds() []Kind {
	return []Kind{
		{"names of files, folders and categories, the path of the source, and the flags of each run", byTable(`
			aliases key owner; attempts key; bases category; categories name; contents key; described key; descriptions key;
			differences key; enrichment_runs contexts; failures key; folders path; former key; former_keys key owner; old_urls key; versions key; histories key;
			intents path; inventory folder name; items key folder name previous_key; orphans key; ours path;
			pairs source drift_cursor; receipts key name; runs rules cursor categories drift_cursor wave; verifications wave; sidecars key folded;
			audited category_name folder name`)},
		{"metadata: descriptions, captions, tags, names of creators, credits, copyright, capture dates, GPS coordinates, attributes, and user metadata of objects in S3", byTable(`
			described metadata found; descriptions metadata tags; differences what; enrichment_changes before after;
			enrichments description tags attribute value; former receipt asset; audited description tags attributes blur; enrichments blur`)},
		{"texts that the AI content service proposed, and remarks on them", byTable(`
			enrichments text proposed_tags note flagged; audited findings`)},
		{"URLs of assets, hosts, and IDs of environments, workspaces and assets", byTable(`
			bases url_before url_after; calls destination; categories destination; choices destination; content_checks asset; wave_checks asset; conversations service id;
			decorative destination asset; differences asset; enrichment_changes asset; enrichment_runs destination service;
			enrichments destination asset; folders destination id; old_urls comparable url; intents destination;
			inventory asset url; items asset; namesakes asset; pairs destination url; receipts asset folder url images; versions asset; revisions asset; open_histories asset;
			audited destination asset folder_id url image; audits destination`)},
		{"approvers, the accounts that started runs, the host and process ID of the last run, and the action log: accounts, hosts and command lines", byTable(`
			action_log entry; runs approved_by started_by approval_stated_by approval_key; owner pid host`)},
		{"error messages, which may quote names and responses of a service", byTable(`
			attempts error; enrichment_changes error; enrichments error; failures error; items error; runs stopped; versions note`)},
		{"salted checksums of the keys of forgotten objects", byTable(`pairs forgotten`)},
		{"", byTable(`
			aliases pair size time version_tag run checksum content_type; attempts run attempt at class; bases id content_type;
			calls minute n; categories id private; choices extension category; contents run size checksum;
			content_checks pair at intact; wave_checks pair verification; conversations enrichment spent at; decorative since; described pair; descriptions pair content_type;
			differences verification field; enrichment_changes run enrichment state undone_by at;
			enrichment_runs num id command model undoes started_at finished_at calls credits bytes;
			enrichments num kind language state run size width height decorative edited model calls bytes attempts class updated_at;
			failures pair size time version_tag runs last_run unclear refused since; fields run metadata_source field objects unmapped;
			folders category; former run; former_keys pair; old_urls pair; intents category at;
			inventory scope slot category extension size status mark;
			items run size time version_tag obstacle action reason state category slot attempts intent_at retry_at checksum class base content_type;
			namesakes pair; orphans pair since runs wave; action_log num checksum; ours pair category; owner id state_id seq epoch since log_entries log_head; pairs id sandbox scans objects bytes;
			receipts pair size time version_tag checksum extension category slot adopted metadata_pending run done_at modified base content_type content_run content_at;
			runs num id pair command state scanned unchanged unchanged_bytes plan_hash stale started_at listed_at finished_at approved_at undoes tallied pruned_at;
			sidecars pair size time version_tag pending; audited audit category private extension size width height modified language;
			audits audit at whole; tallies run action reason state objects bytes; throughput run minute items bytes first last;
			versions run num size time version_tag version; histories run older older_bytes brought brought_bytes;
			revisions pair num size time version_tag checksum run done_at; open_histories pair;
			verifications id pair at level receipts contents differences`)},
	}
}

// byTable parses a list of tables with their columns.
func byTable(list string) map[string][]string {
	tables := map[string][]string{}
	for entry := range strings.SplitSeq(list, ";") {
		words := strings.Fields(entry)
		tables[words[0]] = append(tables[words[0]], words[1:]...)
	}
	return tables
}
