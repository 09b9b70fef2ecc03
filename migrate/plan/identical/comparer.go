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

// EnoughTags is how many version tags of a batch are found to be checksums of the content
// before all of it are taken for that.
const EnoughTags = 20

// tagged marks a content that a version tag reports, and not a checksum.
const tagged = "tag:"

// A Comparer shows which objects have identical content, and remembers what reading some of them reported.
type Comparer struct {
	source sources.Source
	watch  migrate.Observer
	atOnce int
	tags   map[tagBatch]tagEvidence // what reading objects reported how version tags are made
}

// NewComparer returns a Comparer of the objects of a source. It reads at most atOnce objects at a
// time, and reports each to watch.
func NewComparer(s sources.Source, watch migrate.Observer, atOnce int) *Comparer {
	return &Comparer{source: s, watch: watch, atOnce: max(atOnce, 1), tags: map[tagBatch]tagEvidence{}}
}

// IsChecksum reports whether a version tag is made of the content alone, so that objects of equal
// size which have it are identical.
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

// Checksum returns the SHA-256 checksum of its content, or nil if only a version tag shows what that is.
func (o *Object) Checksum() []byte {
	if strings.HasPrefix(o.Content, tagged) {
		return nil
	}
	return []byte(o.Content)
}

// A tagBatch is what was stored on one day in one folder at the top: most likely all of it is
// encrypted, or none.
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

// tagEvidence is what reading objects of a batch said of their version tags. Services make
// them from the content (MD5), unless it is encrypted with keys of its own (SSE-KMS, SSE-C):
// then they look the same, and differ for identical content.
type tagEvidence struct {
	checksums int  // how many are checksums of the content
	others    bool // some are not
}

func (e tagEvidence) isEnough() bool { return e.checksums >= EnoughTags && !e.others }

// A tagClass is objects of one size that are equal, as they have one version tag; or one
// object whose version tag shows nothing.
type tagClass struct {
	tag      string // "" if it is no checksum
	batch    tagBatch
	members  []*Object
	checksum string // "" if it is not known
	read     bool
}

// classesByTag puts objects of one size together that have one version tag, in the order in
// which they come.
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

// Distinguish sets the contents of objects of one size and extension. Equal version tags
// confirm that where they may be made from the content. Unequal ones confirm nothing, unless enough
// of the same batches are known to be checksums. Else the objects are read, except those whose
// checksums the state database knows.
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

// readUnconfirmed reads objects until all are distinguished, by their checksums or by their version
// tags. It begins with a sample of those that will be read if version tags confirm nothing.
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

// isUnknown reports whether the content is known by nothing but possibly the version tag.
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

// sample picks of certain classes as many as will be read to know how the version tags of
// their batches are made.
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

// readClasses reads one object of each class, and notes what that says of its version tag.
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

// readClass reads the first object of a class that can be read, and gives its MD5 checksum.
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
		s.unreadable = !s.Owns // of the others, it is known what they are to share
	}
	return "", nil
}
