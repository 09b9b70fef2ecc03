package proposals

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/ui"
)

//go:embed page.html
var templates embed.FS

//go:embed page.css
var style string

//go:embed page.js
var script string

// MostOnPage is how many proposals a page has: so many can be judged in a day, and browsers
// show them without delay.
const MostOnPage = 2000

// A Head is what a page says above the proposals.
type Head struct {
	Run         string // part of the name of the file in which decisions are saved, such as the ID of a run
	Destination string
	MadeAt      time.Time
	Zone        *time.Location
}

// WriteHTML writes a page on which people judge the first proposals, at most MostOnPage of
// them. It needs nothing else but the thumbnails that have an address, and its policy
// forbids everything else, also any other script. What is decided is saved by the browser
// as JSON Lines for [Read], and goes nowhere else.
func WriteHTML(w io.Writer, head Head, rows iter.Seq2[Row, error]) error {
	p := page{Head: head, Style: template.CSS(style), Script: template.JS(script), Longest: LongestAlt}
	for r, err := range rows {
		switch {
		case err != nil:
			return err
		case len(p.Cards) == MostOnPage:
			p.Left++
		default:
			p.Cards = append(p.Cards, newCard(len(p.Cards)+1, r))
		}
	}
	p.Policy = policy(p.Cards)
	return p.write(w)
}

type page struct {
	Head
	Policy  string
	Style   template.CSS
	Script  template.JS
	Longest int
	Cards   []card
	Left    int // proposals that are not on the page
}

// File is the name of the file in which decisions are saved.
func (p page) File() string { return "decisions-" + p.Run + ".jsonl" }

// A card shows one proposal.
type card struct {
	Row
	N             int
	IsOpen        bool
	Choice        Choice
	Choices       []choice
	Picture       template.URL // nothing else than an image, whatever it is said to be
	Warned        []string
	Was           string // what Before is
	Before, After []piece
	Tags          []tag
	ProposedTags  string // in JSON
}

type choice struct {
	Choice Choice
	Title  string
}

func newCard(n int, r Row) card {
	tags, err := json.Marshal(tidyTags(r.New.Tags))
	if err != nil {
		panic(err) // there is nothing in it but text
	}
	c := card{
		Row: r, N: n, IsOpen: r.isOpen(), Choice: r.choice(), Choices: []choice{{Accept, "Accept"}, {Reject, "Reject"}}, Picture: pictureAddress(r.Thumbnail),
		Warned: r.Warnings(), Tags: markedTags(r.Old.Tags, r.New.Tags), ProposedTags: string(tags),
	}
	if c.Was = "Now"; r.Kind == "translate" { // languages have no words in common
		c.Was, c.Before, c.After = "Original", add(nil, false, []string{r.Old.Description}), add(nil, false, []string{r.New.Description})
	} else {
		c.Before, c.After = marked(r.Old.Description, r.New.Description)
	}
	if r.Kind == "describe" {
		c.Choices = append(c.Choices, choice{Decorative, "Decorative"})
	}
	return c
}

// pictureAddress gives the address of an image, empty if it is not one that a page may show.
func pictureAddress(address string) template.URL {
	if strings.HasPrefix(address, "data:image/") || origin(address) != "" {
		return template.URL(address)
	}
	return ""
}

// origin is what a policy knows the host of an address by.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(u.Host, " ;,'\"") {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// policy forbids everything but this style, this script and the pictures of these proposals.
func policy(cards []card) string {
	images := []string{"data:"}
	for _, c := range cards {
		if from := origin(string(c.Picture)); from != "" && !slices.Contains(images, from) {
			images = append(images, from)
		}
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; img-src " + strings.Join(images, " ") + "; base-uri 'none'; form-action 'none'"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// safeLines makes a text safe to show and keeps its lines.
func safeLines(text string) string {
	all := strings.Split(text, "\n")
	for i, l := range all {
		all[i] = ui.Sanitize(l)
	}
	return strings.Join(all, "\n")
}

func (p page) write(w io.Writer) error {
	zone := p.Zone
	if zone == nil {
		zone = time.UTC
	}
	t, err := template.New("").Funcs(template.FuncMap{
		"clean":   ui.Sanitize,
		"text":    safeLines,
		"count":   func(n int) string { return ui.Count(int64(n)) },
		"credits": func(c float64) string { return strconv.FormatFloat(c, 'f', -1, 64) },
		"when":    func(t time.Time) string { return t.In(zone).Format(time.DateTime) },
		"rfc":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}).ParseFS(templates, "*.html")
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	if err := t.ExecuteTemplate(b, "page", p); err != nil {
		return err
	}
	return b.Flush()
}
