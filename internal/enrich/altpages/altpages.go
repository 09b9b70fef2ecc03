// Package altpages has an AI service write the alternative texts that images in HTML pages
// lack.
//
// The service gets whole pages and gives whole pages back, and what it gives back is never
// written as it is: only the new alternative texts are taken from it, and only if everything
// else came back as it was sent. They are put into the original, so that every other byte
// of it stays what it is, and the result stands beside it under another name.
//
// A manifest beside each result tells what was asked already. What is known there is not
// asked again, also after a crash, unless the page has changed since. A crash between the
// answer and the manifest is the one case in which a page is paid for twice: the service
// keeps nothing that could be looked at.
package altpages

import (
	"cmp"
	"context"
	"fmt"
)

// A Service processes documents.
type Service interface {
	// Process carries out a prompt on HTML documents and gives one answer for each, in the
	// same order. An error that says it is permanent is of these documents; any other
	// ends the run.
	Process(ctx context.Context, documents []string, prompt string) ([]Processed, error)
}

// A Processed is a document as it came back, and what is said to have changed.
type Processed struct{ Document, Summary string }

// Options say how pages are treated; what is zero has a default.
type Options struct {
	Language string // of the alternative texts; that of each page
	Suffix   string // before the ending of a result; ".enriched"
	Most     int64  // bytes of the documents of one call; 250,000, a guess: agent models are documented to take 256,000 characters
	Batch    int    // pages of one call; 5
	Embed    bool   // send pictures that are files below the folder of the page, made small
	Again    bool   // send also pages whose result is there

	Contexts []string // that the service is given besides; they only go into the manifests
}

func (o Options) orDefault() Options {
	o.Suffix = cmp.Or(o.Suffix, ".enriched")
	o.Most = cmp.Or(o.Most, 250_000)
	o.Batch = cmp.Or(o.Batch, 5)
	return o
}

// Prompt is what the service is asked for.
func (o Options) Prompt() string {
	language := "the language of the document"
	if o.Language != "" {
		language = "the language " + o.Language
	}
	return fmt.Sprintf(`Give every <img> element that has no alt attribute one: a short alternative text in %s for people who cannot see the image, of at most %d characters, that says what is to be seen and what it means here. Do not begin with "image of" or the like. An image that is there for decoration only gets alt="".
Leave everything else exactly as it is, character by character: all other elements and attributes, all text, white space, entities and comments, and the alt attributes that are there. Return the whole document, without any explanation around it.`, language, longest)
}

const (
	longest = 125  // characters that are asked for
	mostAlt = 1024 // characters, above which an answer is not one
)
