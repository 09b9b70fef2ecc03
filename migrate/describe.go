package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/metadata"
	"assetferry/sources"
	"assetferry/state"
)

// saidLast is what was said of an object when its asset was described last.
type saidLast struct {
	base  metadata.Metadata
	found metadata.Found
	text  string // of base, as it is kept
}

// saidLast reads what was said of an object when its asset was described last.
func (d Deps) saidLast(ctx context.Context, run state.Run, key sources.Key) (last saidLast, err error) {
	kept, err := d.Journal.DescribedAs(ctx, run.Pair.ID, key)
	if err == nil {
		last.text = kept.Metadata
		last.base, err = metadata.Decode(kept.Metadata)
	}
	if err == nil {
		last.found, err = metadata.DecodeFound(kept.Found)
	}
	if err != nil {
		return last, &journalError{err}
	}
	return last, nil
}

// redescriber tells whether objects, in key order, are described otherwise than when their
// assets were described last. It is nil where nobody may describe assets anew.
type redescriber func(sources.Object, state.Receipt) (bool, error)

// redescribed gives a redescriber for the objects after a key.
func (p *Planner) redescribed(ctx context.Context, run state.Run, after sources.Key) (_ redescriber, stop func()) {
	if p.Rules.Sync == nil || p.Describer == nil && !p.remapped {
		return nil, func() {}
	}
	known := sideBySide(p.Journal.Described(ctx, run.Pair.ID, after), func(d state.Described) sources.Key { return d.Key })
	return func(o sources.Object, r state.Receipt) (bool, error) {
		before, there, err := known.find(o.Key)
		if err != nil {
			return false, err
		}
		given, err := metadata.DecodeFound(before.Given)
		if err != nil {
			return false, &journalError{err}
		}
		fields, err := p.inTable(ctx, run, o.Key, nil, given)
		mayDiffer := p.remapped && (there || !r.Adopted) // nobody has said anything of what was adopted
		if err != nil || !there && fields == nil && !mayDiffer {
			return false, err
		}
		table := metadata.Found{}.With(metadata.FromTable, fields)
		if table.EncodeOf(metadata.FromTable) == before.Table && !mayDiffer {
			return false, nil
		}
		last, err := p.saidLast(ctx, run, o.Key)
		if err != nil {
			return false, err
		}
		said, _, err := p.say(o, last.found.With(metadata.FromTable, fields))
		return said.Over(last.base).Encode() != last.text, err
	}, known.stop
}

// compareDescriptions decides again about an asset that is to be described, if people have
// described it as well and somebody has to say who is right.
func (d *decider) compareDescriptions(ctx context.Context, i *state.Item, a assets.Asset) error {
	if !d.Rules.reports() {
		return nil
	}
	last, err := d.saidLast(ctx, d.run, i.Key)
	if err != nil {
		return err
	}
	g, err := d.complete(ctx, d.run, *i, nil, gathering{found: last.found})
	if err != nil {
		return err
	}
	clash := metadata.Merge(last.base, g.said, metadataOf(a), metadata.Report).Conflicts
	if len(clash) == 0 {
		return nil
	}
	action, why := Decide(Situation{Memory: Same, Standing: DescribedThere}, d.Rules)
	write(i, action, why)
	i.Error = fmt.Sprintf("%s: %s", why, strings.Join(clash, ", "))
	return d.store(ctx, *i)
}

// describes reports whether assets may get a description of their own after they were
// sent.
func (a *Applier) describes() bool { return a.Provenance == "always" || a.looksAtAnything() }

// A description is what came of describing an asset.
type description struct {
	modified  time.Time // when the service says that it was changed last; when we left it, if somebody has changed it since
	said      string    // by the source, as it is kept; see state.Outcome
	found     string    // the same
	fields    []state.FoundField
	addresses []string
	remark    string // for people
}

// into has an outcome tell what the journal keeps of a description.
func (d description) into(o *state.Outcome) {
	o.Described, o.Found, o.Fields, o.Addresses = d.said, d.found, d.fields, d.addresses
}

// finish does what belongs to an item whose asset is there. The asset is nil if it
// was sent before; then the journal has its receipt. The content is nil if it was not sent
// just now.
func (a *Applier) finish(ctx context.Context, i state.Item, asset *assets.Asset, receipt *state.Receipt, sent *content) result {
	done := result{item: i, outcome: state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: receipt}}
	if i.Action == state.Adopt || !a.describes() {
		done.outcome.Undescribed = wasSent(i)
		return done
	}
	d, err := a.describe(ctx, i, asset, receipt, sent)
	if err == nil {
		faultpoint.Hit(faultpoint.Described)
		done.outcome.Modified, done.outcome.Error = d.modified, d.remark
		d.into(&done.outcome)
		if i.State == state.ItemSent && i.Class == "" { // what was told when it was sent
			done.outcome.Error = joined(i.Error, d.remark)
		}
		if receipt != nil && !d.modified.IsZero() {
			receipt.Modified = d.modified
		}
		return done
	}
	r := judge(ctx, i, fmt.Errorf("the asset is there, but not described: %w", err))
	r.outcome.Receipt = receipt
	if r.release { // it stays as it is and is described another time
		r.release, r.outcome.State = false, state.ItemSent
	}
	return r
}

// describe writes into an asset what the source says of it, and where it comes from. It can
// be repeated: what is there already is not written again.
func (a *Applier) describe(ctx context.Context, i state.Item, asset *assets.Asset, receipt *state.Receipt, sent *content) (description, error) {
	var last saidLast
	var err error
	if !isMade(i, asset) { // else nobody has said anything of it
		if last, err = a.saidLast(ctx, a.run, describedAs(i)); err != nil {
			return description{}, err
		}
	}
	if receipt == nil {
		known, err := a.Journal.Receipt(ctx, a.run.Pair.ID, i.Key)
		if err != nil {
			return description{}, &journalError{err}
		}
		receipt = &known
	}
	g, err := a.gather(ctx, i, receipt, sent, last)
	if err != nil {
		return description{}, err
	}
	d := description{modified: receipt.Modified, said: last.text, found: g.found.Encode(), fields: g.fields, addresses: g.addresses, remark: g.remark}
	if asset == nil {
		if g.said.IsZero() && a.Provenance != "always" {
			return d, nil
		}
		there, err := a.Dest.Asset(ctx, receipt.Asset)
		if errors.Is(err, fs.ErrNotExist) {
			return description{remark: string(ReasonDeleted)}, nil
		} else if err != nil {
			return description{}, err
		}
		asset = &there
	}
	left, err := a.leftBefore(ctx, i, *receipt, *asset)
	if err != nil {
		return description{}, err
	}
	m := metadata.Merge(last.base, g.said, metadataOf(*asset), a.rules.policy())
	d.modified, d.said, d.remark = asset.LastModifiedAt, g.said.Over(last.base).Encode(), joined(g.remark, remarkOf(m))
	if len(m.Conflicts) > 0 { // so that the next plan tells it, too
		d.said, d.found = last.text, last.found.Encode()
	}
	if changes, some := a.changesOf(m.Changes, i.Key, *asset, receipt.Digest); some {
		changed, err := a.Write.Update(ctx, asset.ID, changes)
		if err != nil {
			return description{}, err
		}
		d.modified = changed.LastModifiedAt
	}
	if !left.IsZero() {
		d.modified = left
	}
	return d, nil
}

// describedAs is the key under which the journal has what was said of an object last: its
// former one until the receipt is that of the new one.
func describedAs(i state.Item) sources.Key {
	if i.State == state.ItemSent {
		return i.Key
	}
	return cmp.Or(i.Origin, i.Key)
}

// isMade reports whether the asset of an item is one that the item has made.
func isMade(i state.Item, asset *assets.Asset) bool {
	return i.Action == state.Create || asset != nil && asset.ID != i.Asset
}

// changesOf is what is written into an asset, if there is anything. Where it comes from is
// written along, and only if it always should be for itself alone.
func (a *Applier) changesOf(m metadata.Changes, key sources.Key, asset assets.Asset, digest []byte) (c assets.Changes, some bool) {
	mark := provenance(a.run.Pair.Source, key, digest, asset.ID)
	marks := a.Provenance != "never" && (a.Provenance == "always" || !m.IsZero()) && markOf(asset) != mark
	if m.IsZero() && !marks {
		return c, false
	}
	c.Description = m.Description
	if m.Tags != nil {
		c.Tags = &m.Tags
	}
	if len(m.Attributes) == 0 && !marks {
		return c, true
	}
	// Whether the service merges attributes is not known, so all of them are sent.
	c.CustomAttributes = maps.Clone(asset.Metadata.CustomAttributes)
	if c.CustomAttributes == nil {
		c.CustomAttributes = map[string]any{}
	}
	for name, value := range m.Attributes {
		c.CustomAttributes[name] = value
	}
	if marks {
		c.CustomAttributes[provenanceAttribute] = mark
	}
	return c, true
}

// metadataOf is what describes an asset. People may have given attributes values that are
// no text.
func metadataOf(a assets.Asset) metadata.Metadata {
	m := metadata.Metadata{Description: a.Metadata.Description, Tags: a.Tags, Attributes: map[string]string{}}
	for name, value := range a.Metadata.CustomAttributes {
		switch value := value.(type) {
		case nil:
		case string:
			m.Attributes[name] = value
		default:
			text, err := json.Marshal(value)
			if err != nil {
				panic(err) // it came as JSON
			}
			m.Attributes[name] = string(text)
		}
	}
	return m
}

// KeptEdits begins the remark on an item that is done, but where what people wrote at the
// destination stays although the source says something new.
const KeptEdits = "what people wrote at the destination stays"

func remarkOf(m metadata.Merged) string {
	kept := append(m.Kept, m.Conflicts...)
	if len(kept) == 0 {
		return ""
	}
	return KeptEdits + ": " + strings.Join(kept, ", ")
}

// policy is what the rules say about assets that people described as well.
func (r Rules) policy() metadata.Policy {
	if r.Sync == nil {
		return metadata.Keep
	}
	return metadata.Policy(r.Sync.OnDestinationChange)
}
