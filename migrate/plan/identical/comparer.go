package identical

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// EnoughTags is the number of version tags of a batch that must match the content before all tags
// of the batch count as checksums.
const EnoughTags = 20

// tagged marks a content that a version tag reports, and not a checksum.
const tagged = "tag:"

// A Comparer finds objects with identical content, and remembers the version tags of objects it has
// read.
type Comparer struct {
	source sources.Source
	watch  migrate.Observer
	atOnce int
	tags   map[tagBatch]tagEvidence // results of reading objects, by batch
}

// NewComparer returns a Comparer of the objects of a source. It reads at most atOnce objects at a
// time, and reports each to watch.
func NewComparer(s sources.Source, watch migrate.Observer, atOnce int) *Comparer {
	return &Comparer{source: s, watch: watch, atOnce: max(atOnce, 1), tags: map[tagBatch]tagEvidence{}}
}

// IsChecksum reports whether a version tag depends on the content alone, so that objects of equal
// size with the same tag are identical.
func IsChecksum(s sources.Source, tag string) bool {
	if !s.Traits().ContentTags || len(tag) != 32 {
		return false
	}
	_, err := hex.DecodeString(tag)
	return err == nil
}

// An Object is one that may share an asset, or have others share its own.
type Object struct {
	state.Sharer
	// Content shows it from others of its size and extension; "" if it could not be read.
	Content    string
	unreadable bool
}

// Checksum returns the SHA-256 checksum of its content, or nil if only the version tag identifies
// it.
func (o *Object) Checksum() []byte {
	if strings.HasPrefix(o.Content, tagged) {
		return nil
	}
	return []byte(o.Content)
}

// A tagBatch is the objects that were stored on one day in one top-level folder: most likely all of
// them are encrypted, or none.
type tagBatch struct {
	day    int64
	folder string
}

func batchOf(i state.Item) tagBatch {
	folder, _, _ := strings.Cut(string(i.Key), "/")
	if folder == string(i.Key) {
		folder = ""
	}
	return tagBatch{i.Time.Unix() / (24 * 60 * 60), folder}
}

// tagEvidence counts version tags of a batch that do and do not match the content. Services compute
// them from the content (MD5), unless it is encrypted with keys of the service or the customer
// (SSE-KMS, SSE-C). Then the tags look the same, and differ for identical content.
type tagEvidence struct {
	checksums int  // how many are checksums of the content
	others    bool // some are not
}

func (e tagEvidence) isEnough() bool { return e.checksums >= EnoughTags && !e.others }

// A tagClass contains objects of one size with the same version tag, which are identical, or one
// object whose version tag identifies nothing.
type tagClass struct {
	tag      string // "" if it is no checksum
	batch    tagBatch
	members  []*Object
	checksum string // "" if unknown
	read     bool
}

// classesByTag groups objects of one size by version tag, in their order.
func (r *Comparer) classesByTag(group []*Object) (classes []*tagClass) {
	byTag := map[string]*tagClass{}
	for _, s := range group {
		c := &tagClass{batch: batchOf(s.Item)}
		if IsChecksum(r.source, s.VersionTag) {
			c.tag = strings.ToLower(s.VersionTag)
		}
		if same := byTag[c.tag]; same != nil {
			c = same
		} else {
			classes = append(classes, c)
		}
		if c.tag != "" {
			byTag[c.tag] = c
		}
		c.members = append(c.members, s)
		if s.Owns && c.checksum == "" {
			c.checksum = string(s.Item.Checksum)
		}
	}
	return classes
}

// Distinguish sets the contents of objects of one size and extension. Equal version tags mean
// identical content if they may be checksums. Different tags mean different content only if enough
// tags of the same batches are known to be checksums. Otherwise it reads the objects, except those
// whose checksums the state database has.
func (r *Comparer) Distinguish(ctx context.Context, group []*Object) error {
	classes := r.classesByTag(group)
	if len(classes) > 1 {
		byChecksum, err := r.readUnconfirmed(ctx, classes)
		if err != nil {
			return err
		}
		if byChecksum {
			compareChecksums(classes)
			return nil
		}
	}
	for _, c := range classes {
		for _, s := range c.members {
			s.Content = tagged + c.tag
		}
	}
	return nil
}

func compareChecksums(classes []*tagClass) {
	for _, c := range classes {
		for _, s := range c.members {
			if !s.unreadable {
				s.Content = c.checksum
			}
		}
	}
}

// readUnconfirmed reads objects until all are distinguished, by checksum or by version tag. It
// starts with a sample of those that it has to read if version tags are no checksums.
func (r *Comparer) readUnconfirmed(ctx context.Context, classes []*tagClass) (byChecksum bool, err error) {
	if err := r.readClasses(ctx, r.sample(classes, (*tagClass).isUnknown)); err != nil {
		return false, err
	}
	rest := only(classes, (*tagClass).isUnknown)
	if len(rest) == 0 {
		return true, nil
	}
	if r.mayAllBeChecksums(classes) {
		if known := r.sample(classes, (*tagClass).isUnread); len(known) <= len(rest) {
			if err := r.readClasses(ctx, known); err != nil {
				return false, err
			}
		}
		if r.areAllChecksums(classes) {
			return false, nil
		}
	}
	return true, r.readClasses(ctx, rest)
}

// isUnknown reports whether only the version tag may identify the content.
func (c *tagClass) isUnknown() bool { return c.checksum == "" && !c.read }

func (c *tagClass) isUnread() bool { return !c.read }

func only(classes []*tagClass, wanted func(*tagClass) bool) (those []*tagClass) {
	for _, c := range classes {
		if wanted(c) {
			those = append(those, c)
		}
	}
	return those
}

// sample returns as many of certain classes as have to be read to know how the version tags of
// their batches are computed.
func (r *Comparer) sample(classes []*tagClass, of func(*tagClass) bool) (picked []*tagClass) {
	missing := map[tagBatch]int{}
	for _, c := range only(classes, of) {
		known := r.tags[c.batch]
		if _, counted := missing[c.batch]; !counted {
			missing[c.batch] = EnoughTags - known.checksums
		}
		if c.tag != "" && !known.others && missing[c.batch] > 0 {
			missing[c.batch]--
			picked = append(picked, c)
		}
	}
	return picked
}

func (r *Comparer) mayAllBeChecksums(classes []*tagClass) bool {
	return !slices.ContainsFunc(classes, func(c *tagClass) bool { return c.tag == "" || r.tags[c.batch].others })
}

func (r *Comparer) areAllChecksums(classes []*tagClass) bool {
	return !slices.ContainsFunc(classes, func(c *tagClass) bool { return c.tag == "" || !r.tags[c.batch].isEnough() })
}

// readClasses reads one object of each class, and records whether its version tag is its checksum.
func (r *Comparer) readClasses(ctx context.Context, classes []*tagClass) error {
	sums := make([]string, len(classes))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(r.atOnce)
	for n, c := range classes {
		g.Go(func() (err error) {
			sums[n], err = r.readClass(parallel, c)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for n, c := range classes {
		if c.tag == "" || sums[n] == "" {
			continue
		}
		known := r.tags[c.batch]
		if sums[n] == c.tag {
			known.checksums++
		} else {
			known.others = true
		}
		r.tags[c.batch] = known
	}
	return nil
}

// readClass reads the first readable object of a class, and returns its MD5 checksum.
func (r *Comparer) readClass(ctx context.Context, c *tagClass) (sum string, err error) {
	c.read = true
	for _, s := range c.members {
		h := md5.New()
		checksum, err := inventory.ChecksumOfObjectTo(ctx, r.source, s.Item.Object, h)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		r.watch.Progress(1, s.Size)
		if err == nil {
			c.checksum = cmp.Or(c.checksum, string(checksum))
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		s.unreadable = !s.Owns // an owner keeps its own asset anyway
	}
	return "", nil
}
