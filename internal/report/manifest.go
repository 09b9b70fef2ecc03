package report

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A ManifestEntry is the comment above the checksum of an object in a manifest.
type ManifestEntry struct {
	Key     sources.Key `json:"key"`
	Version string      `json:"version,omitempty"` // of the source
	Size    int64       `json:"size"`
	AssetID string      `json:"asset_id"`
	URL     string      `json:"url,omitempty"`
	State   string      `json:"state"` // uploaded, matched or shared
	At      time.Time   `json:"at"`    // of the upload or the match of the content
	Run     string      `json:"run"`
	// ApprovedBy approved the plan of the run, with the key ApprovalKey, or as StatedBy stated.
	ApprovedBy  string `json:"approved_by,omitempty"`
	ApprovalKey string `json:"approval_key,omitempty"`
	StatedBy    string `json:"approval_stated_by,omitempty"`

	checksum []byte
}

// WriteManifest writes the checksums of all objects of a wave that have assets, in key order, as
// sha256sum reads them. The nil wave is the whole source. Other facts are in comments, which it ignores. clean is applied to names; nil leaves
// them as they are.
func WriteManifest(ctx context.Context, w io.Writer, store *state.Store, pair state.Pair, wave *migrate.Wave, tool string, clean func(string) string) error {
	if clean == nil {
		clean = func(s string) string { return s }
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Manifest of assetferry, form 1. To check the files, go to their folder: sha256sum -c FILE\n")
	if pair.Purpose == state.Sandbox {
		fmt.Fprintln(b, "# SANDBOX: nothing in this file is production data")
	}
	head, err := json.Marshal(map[string]string{"source": pair.Source, "destination": pair.Destination, "url": pair.URL, "made_at": time.Now().UTC().Format(time.RFC3339), "tool_version": tool})
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "# %s\n", head)
	objects, bytes := 0, int64(0)
	for e, err := range manifestEntries(ctx, store, pair.ID) {
		if err != nil {
			return err
		}
		if !wave.HasKey(e.Key) {
			continue
		}
		objects, bytes = objects+1, bytes+e.Size
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(b, "# %s\n%s\n", text, clean(checksumLine(e.Key, e.checksum))); err != nil {
			return err
		}
	}
	fmt.Fprintf(b, "# {\"objects\":%d,\"bytes\":%d}\n", objects, bytes)
	return b.Flush()
}

// manifestEntries merges the objects with receipts and those that share an asset, in key order.
func manifestEntries(ctx context.Context, store *state.Store, pair int64) iter.Seq2[ManifestEntry, error] {
	return func(yield func(ManifestEntry, error) bool) {
		nextOwn, stopOwn := iter.Pull2(store.AllEvidence(ctx, pair, ""))
		defer stopOwn()
		nextAlias, stopAliases := iter.Pull2(store.AllAliases(ctx, pair, ""))
		defer stopAliases()
		own, err1, owns := nextOwn()
		alias, err2, shares := nextAlias()
		for owns || shares {
			e, err := ManifestEntry{}, errors.Join(err1, err2)
			switch {
			case err != nil:
			case owns && (!shares || own.Key < alias.Key):
				e = entryOf(own)
				own, err1, owns = nextOwn()
			default:
				e, err = sharedEntry(ctx, store, pair, alias)
				alias, err2, shares = nextAlias()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func entryOf(a state.Evidence) ManifestEntry {
	e := ManifestEntry{
		Key: a.Key, Version: a.VersionTag, Size: a.Size, AssetID: a.Asset, URL: a.URL, State: "uploaded", At: a.At.UTC(), Run: a.ContentRun,
		ApprovedBy: a.Approver.Name, ApprovalKey: a.Approver.Key, StatedBy: a.Approver.StatedBy, checksum: a.Checksum,
	}
	if a.Adopted {
		e.State = "matched"
	}
	return e
}

// sharedEntry returns the entry of an object that shares the asset of another one.
func sharedEntry(ctx context.Context, store *state.Store, pair int64, alias state.Alias) (ManifestEntry, error) {
	owner, err := store.Evidence(ctx, pair, alias.Owner)
	if err != nil {
		return ManifestEntry{}, err
	}
	e := entryOf(owner)
	e.Key, e.Version, e.Size, e.State = alias.Key, alias.VersionTag, alias.Size, "shared"
	return e, nil
}

// checksumLine returns the line of a file as sha256sum reads it. Names with line breaks or backslashes
// are escaped, and a backslash at the start of the line says so. No file has a name with a NUL byte,
// so such a line is a comment.
func checksumLine(key sources.Key, checksum []byte) string {
	name := string(key)
	mark := ""
	switch {
	case strings.Contains(name, "\x00"):
		mark, name = "# ", strings.ReplaceAll(name, "\x00", `\0`)
		name = escaped.Replace(name)
	case strings.ContainsAny(name, "\\\n\r"):
		mark, name = `\`, escaped.Replace(name)
	}
	return mark + hex.EncodeToString(checksum) + " *" + name
}

var escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
