package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithytime "github.com/aws/smithy-go/time"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// contents parses the objects of a listing, and leaves the rest of the response to the SDK. The XML
// parser of the SDK took as long as all other work of a plan without changes.
//
// It parses only the usual form: ASCII, known elements, no attributes. For any other form, it parses
// nothing, and the SDK reads the whole response.
type contents struct{ objects []types.Object }

const (
	// usualPage is more than the size of most pages of a thousand objects, in bytes.
	usualPage = 512 << 10
	// largestPage is more than the size of a page of a thousand objects with the longest keys, all
	// characters escaped. Larger pages would take too much memory.
	largestPage = 6<<20 + 1<<19
	// mostObjects is more than the ten thousand objects per page of some services. Each takes many
	// times the memory of its text.
	mostObjects = 12_000
	// mostTags is more than the number of XML tags for the maximum number of objects.
	mostTags = 20 * mostObjects
)

var errLargePage = fmt.Errorf("a page of the listing has more than %d bytes or %d objects", largestPage, mostObjects)

// ID implements middleware.DeserializeMiddleware.
func (*contents) ID() string { return "assetferry:Contents" }

// HandleDeserialize implements middleware.DeserializeMiddleware. Retries of the SDK call it again.
func (c *contents) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
	c.objects = nil
	out, metadata, err = next.HandleDeserialize(ctx, in)
	answer, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok {
		return out, metadata, err
	}
	text, broken := readPage(answer.Body)
	var rest io.Reader
	switch {
	case len(text) > largestPage, bytes.Count(text, []byte("<Contents")) > mostObjects, bytes.Count(text, []byte("<")) > mostTags:
		return out, metadata, errors.Join(errLargePage, answer.Body.Close())
	case broken != nil:
		rest = io.MultiReader(bytes.NewReader(text), failing{broken})
	default:
		c.objects, text = takeContents(text)
		rest = bytes.NewReader(text)
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{rest, answer.Body}
	return out, metadata, nil
}

// readPage reads a body, and at most one byte more than the largest page. It allocates twice the
// size in total; io.ReadAll would allocate three times as much.
func readPage(r io.Reader) ([]byte, error) {
	text := make([]byte, 0, usualPage)
	for {
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil || len(text) > largestPage:
			return text, err
		case len(text) == cap(text):
			text = append(make([]byte, 0, min(2*cap(text), largestPage+1)), text...)
		}
	}
}

// A failing reader returns the error of another reader.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// pageObjects is the usual maximum number of objects per page.
const pageObjects = 1000

// takeContents returns the objects of a listing and the rest of the text. It returns no objects if
// any part has an unusual form.
func takeContents(text []byte) (objects []types.Object, rest []byte) {
	begin := bytes.Index(text, []byte("<Contents>"))
	if begin < 0 {
		return nil, text
	}
	s := scanner{left: text[begin:]}
	objects = make([]types.Object, 0, pageObjects)
	for s.skip("<Contents>") {
		o, ok := s.object()
		if !ok {
			return nil, text
		}
		objects = append(objects, o)
		s.left = bytes.TrimLeft(s.left, " \n\t")
	}
	head := text[:begin]
	if !isInRoot(head) || bytes.Contains(head, []byte("Contents")) || bytes.Contains(s.left, []byte("Contents")) {
		return nil, text
	}
	return objects, append(bytes.Clone(head), s.left...)
}

// isInRoot reports whether the text after head is directly in the root element.
func isInRoot(head []byte) bool {
	if bytes.HasPrefix(head, []byte("<?xml ")) {
		_, head, _ = bytes.Cut(head, []byte("?>"))
	}
	depth := 0
	for {
		_, after, isTag := bytes.Cut(head, []byte("<"))
		if !isTag {
			return depth == 1
		}
		tag, rest, _ := bytes.Cut(after, []byte(">"))
		switch {
		case bytes.ContainsAny(tag, "!?<'") || bytes.Count(tag, []byte(`"`))%2 != 0: // the tag may end elsewhere
			return false
		case bytes.HasPrefix(tag, []byte("/")):
			depth--
		case !bytes.HasSuffix(tag, []byte("/")):
			depth++
		}
		if depth == 0 { // a second root follows
			return false
		}
		head = rest
	}
}

// A scanner reads elements that contain only text.
type scanner struct{ left []byte }

func (s *scanner) skip(prefix string) bool { return s.skipBytes([]byte(prefix)) }

func (s *scanner) skipBytes(prefix []byte) (found bool) {
	s.left, found = bytes.CutPrefix(s.left, prefix)
	return found
}

// object reads up to the end of an object.
func (s *scanner) object() (o types.Object, ok bool) {
	for {
		s.left = bytes.TrimLeft(s.left, " \n\t")
		if s.skip("</Contents>") {
			return o, true
		}
		name, value, ok := s.element()
		if !ok {
			return o, false
		}
		switch string(name) {
		case "Key":
			o.Key = &value
		case "ETag":
			o.ETag = &value
		case "StorageClass":
			o.StorageClass = types.ObjectStorageClass(value)
		case "ChecksumAlgorithm": // in most listings of AWS
			o.ChecksumAlgorithm = append(o.ChecksumAlgorithm, types.ChecksumAlgorithm(value))
		case "ChecksumType":
			o.ChecksumType = types.ChecksumType(value)
		case "Size":
			size, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return o, false
			}
			o.Size = &size
		case "LastModified":
			t, err := smithytime.ParseDateTime(value)
			if err != nil {
				return o, false
			}
			o.LastModified = aws.Time(t)
		default: // also for nested elements
			return o, false
		}
	}
}

// element reads an element that contains only text.
func (s *scanner) element() (name []byte, text string, ok bool) {
	if !s.skip("<") {
		return nil, "", false
	}
	name, s.left, _ = bytes.Cut(s.left, []byte(">"))
	raw, rest, _ := bytes.Cut(s.left, []byte("<"))
	s.left = rest
	if len(raw) == 0 || slices.ContainsFunc(raw, isUnusual) || !s.skip("/") || !s.skipBytes(name) || !s.skip(">") {
		return nil, "", false
	}
	text, ok = unescape(raw)
	return name, text, ok
}

func isUnusual(b byte) bool { return b < 0x20 || b > 0x7e || b == '>' }

// unescape replaces the predefined entities of XML. Most version tags have two of them.
func unescape(raw []byte) (text string, ok bool) {
	before, after, escaped := bytes.Cut(raw, []byte("&"))
	if !escaped {
		return string(raw), true
	}
	plain := make([]byte, 0, 64) // on the stack
	for escaped {
		name, rest, ends := bytes.Cut(after, []byte(";"))
		char, ok := entity(string(name))
		if !ok || !ends {
			return "", false
		}
		plain = append(append(plain, before...), char)
		before, after, escaped = bytes.Cut(rest, []byte("&"))
	}
	return string(append(plain, before...)), true
}

// entity returns the character of a predefined entity, or of the numbers of two of them.
func entity(name string) (char byte, ok bool) {
	switch name {
	case "quot", "#34":
		return '"', true
	case "apos", "#39":
		return '\'', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	}
	return 0, false
}
