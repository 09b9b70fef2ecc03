package table

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"assetferry/sources/keyindex"
)

// A rank is the position of a row among the rows of its key: of two ranks of one kind, the newer is
// greater. It is "" if the row has no revision, or one without an order.
type rank string

// The kinds of ranks are their first bytes.
const (
	numbered = "n" // then eight bytes for each part of the number
	dated    = "t" // then the seconds and nanoseconds
)

const (
	// maxParts is the maximum number of parts of a version number, such as 2.10.1.
	maxParts = 8
	// maxRows is the maximum number of rows with one key in a table with revisions.
	maxRows = 10_000
)

// rankOf parses a revision: a version number such as 3, v3 or 2.10, or a date that begins with the
// year.
func rankOf(revision string) rank {
	if r := rankOfNumber(revision); r != "" {
		return r
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, revision); err == nil {
			b := binary.BigEndian.AppendUint64([]byte(dated), uint64(t.Unix())^1<<63) // times before 1970 come first
			return rank(binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond())))
		}
	}
	return ""
}

// rankOfNumber compares numbers part by part, so that 2.10 is after 2.9. 2.0 is 2.
func rankOfNumber(revision string) rank {
	if strings.HasPrefix(revision, "v") || strings.HasPrefix(revision, "V") {
		revision = revision[1:]
	}
	parts := strings.Split(revision, ".")
	for len(parts) > 1 && strings.Trim(parts[len(parts)-1], "0") == "" && parts[len(parts)-1] != "" {
		parts = parts[:len(parts)-1]
	}
	if len(parts) > maxParts {
		return ""
	}
	b := []byte(numbered)
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 64)
		if err != nil {
			return ""
		}
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return rank(b)
}

// isOf reports whether two ranks can be compared.
func (r rank) isOf(other rank) bool { return r != "" && other != "" && r[0] == other[0] }

// data returns what the index knows about a row.
func (r rank) data(p position) string { return string([]byte{byte(len(r))}) + string(r) + p.data() }

// split returns the rank and the position of a row. Tables without revisions have no ranks.
func (n *snapshot) split(data string) (rank, position) {
	if !n.hasRevisions() {
		return "", positionOf(data)
	}
	r, rest := cutRank(data)
	return r, positionOf(rest)
}

func cutRank(data string) (rank, string) {
	end := 1 + int(data[0])
	return rank(data[1:end]), data[end:]
}

// newestFirst is the order of the rows of a key. Rows without a rank come last.
func newestFirst(a, b string) int {
	first, _ := cutRank(a)
	second, _ := cutRank(b)
	return strings.Compare(string(second), string(first))
}

// hasRevisions reports whether a column with revisions is named.
func (n *snapshot) hasRevisions() bool { return n.chosen[string(isRevision)] != "" }

// byRank divides the rows of a key, the newest first, by their ranks.
func byRank(same []keyindex.Record) (groups [][]keyindex.Record) {
	var last rank
	for _, record := range same {
		r, _ := cutRank(record.Data)
		if n := len(groups); n > 0 && r == last {
			groups[n-1] = append(groups[n-1], record)
		} else {
			groups = append(groups, []keyindex.Record{record})
		}
		last = r
	}
	return groups
}

// versionTag returns the version tag of an object. It contains the revision, because versions may have
// the same size and the same tag at the server.
func (e entry) versionTag(tag string) string {
	if e.revision == "" {
		return tag
	}
	return e.revision + tagSeparator + tag
}

const tagSeparator = "; "

// contentTag returns a version tag without the revision, and whether that is the revision of the
// entry.
func (e entry) contentTag(versionTag string) (tag string, ok bool) {
	if e.revision == "" {
		return versionTag, true
	}
	return strings.CutPrefix(versionTag, e.revision+tagSeparator)
}

// splitTag returns the rank and the rest of a version tag. A tag from before the column was named has no
// rank, even if it is a date.
func splitTag(versionTag string) (rank, string) {
	revision, tag, found := strings.Cut(versionTag, tagSeparator)
	if r := rankOf(revision); found && r != "" {
		return r, tag
	}
	return "", versionTag
}
