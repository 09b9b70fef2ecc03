// Package altpages adds missing alternative texts to images in HTML pages, written by an AI
// service.
//
// The service receives and returns complete pages. Only the new alternative texts are taken
// from its answer, and only if everything else is unchanged. They are inserted into the
// original page, so all its other bytes stay the same. The result is a new file beside the
// page.
//
// A manifest beside each result stores the answer. A page with a stored answer is not sent
// again, also after a crash, unless the page changed. Only a crash between the answer and the
// manifest means that a page is paid for twice, because the service does not keep answers.
package altpages

import (
	"cmp"
	"context"
	"fmt"
)

// A Service processes documents.
type Service interface {
	// Process applies a prompt to HTML documents and returns one answer for each, in the same
	// order. A permanent error affects these documents only; any other error ends the run.
	Process(ctx context.Context, documents []string, prompt string) ([]Processed, error)
}

// A Processed is a returned document, with the service's summary of its changes.
type Processed struct{ Document, Summary string }

// Options control the processing of pages. Zero values have defaults.
type Options struct {
	Language string // of the alternative texts; "": the language of the page
	Suffix   string // before the extension of a result; "": ".enriched"
	Most     int64  // bytes of documents per request; 0: 250,000, a guess: agent models are documented to accept 256,000 characters
	Batch    int    // pages per request; 0: 5
	Embed    bool   // send images below the folder of the page, scaled down
	Again    bool   // also send pages that have a result

	Contexts []string // of the service; only stored in the manifests
}

func (o Options) orDefault() Options {
	o.Suffix = cmp.Or(o.Suffix, ".enriched")
	o.Most = cmp.Or(o.Most, 250_000)
	o.Batch = cmp.Or(o.Batch, 5)
	return o
}

// Prompt returns the instruction for the service.
func (o Options) Prompt() string {
	language := "the language of the document"
	if o.Language != "" {
		language = "the language " + o.Language
	}
	return fmt.Sprintf(`Give every <img> element that has no alt attribute one: a short alternative text in %s for people who cannot see the image, of at most %d characters, that describes what is visible and what it means on this page. Do not begin with "image of" or similar words. A decorative image gets alt="".
Leave everything else exactly as it is, character by character: all other elements and attributes, all text, white space, entities and comments, and existing alt attributes. Return the complete document without any explanation around it.`, language, longest)
}

const (
	longest = 125  // characters that the prompt allows
	mostAlt = 1024 // characters above which an answer is refused
)
