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

// MostOnPage limits the proposals on a page. A person can decide on this many in a day, and
// browsers show them without delay.
const MostOnPage = 2000

// A Head is the heading of a page.
type Head struct {
	Run         string // part of the file name for decisions, such as the ID of a run
	Destination string
	MadeAt      time.Time
	Zone        *time.Location
}

// WriteHTML writes a page for deciding on proposals, at most MostOnPage of them. The page only
// loads thumbnails with a URL; its policy forbids everything else, including other scripts. The
// browser saves decisions as JSON Lines for [Read] and sends them to no server.
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

// DecisionsFile returns the name of the file in which a page saves decisions. Run is that of its
// Head.
func DecisionsFile(run string) string { return "decisions-" + run + ".jsonl" }

// File returns the name of the file for decisions.
func (p page) File() string { return DecisionsFile(p.Run) }

// A card shows one proposal.
type card struct {
	Row
	N             int
	IsOpen        bool
	Choice        Choice
	Choices       []choice
	Picture       template.URL // only used as an image, whatever its type
	Warned        []string
	Was           string // label for Before
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
		panic(err) // it only contains text
	}
	c := card{
		Row: r, N: n, IsOpen: r.isOpen(), Choice: r.choice(), Choices: []choice{{Accept, "Accept"}, {Reject, "Reject"}}, Picture: pictureURL(r.Thumbnail),
		Warned: r.Warnings(), Tags: markedTags(r.Old.Tags, r.New.Tags), ProposedTags: string(tags),
	}
	if c.Was = "Current"; r.Kind == "translate" { // no words in common
		c.Was, c.Before, c.After = "Original", add(nil, false, []string{r.Old.Description}), add(nil, false, []string{r.New.Description})
	} else {
		c.Before, c.After = marked(r.Old.Description, r.New.Description)
	}
	if r.Kind == "describe" {
		c.Choices = append(c.Choices, choice{Decorative, "Mark as decorative"})
	}
	return c
}

// pictureURL returns the URL of an image, or "" if a page may not show it.
func pictureURL(rawURL string) template.URL {
	if strings.HasPrefix(rawURL, "data:image/") || hostOf(rawURL) != "" {
		return template.URL(rawURL)
	}
	return ""
}

// hostOf returns the host of a URL, as a policy names it.
func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(u.Host, " ;,'\"") {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// policy permits this style, this script and these images, and forbids everything else.
func policy(cards []card) string {
	images := []string{"data:"}
	for _, c := range cards {
		if from := hostOf(string(c.Picture)); from != "" && !slices.Contains(images, from) {
			images = append(images, from)
		}
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; img-src " + strings.Join(images, " ") + "; base-uri 'none'; form-action 'none'"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// safeLines returns text that is safe to show, with its line breaks.
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
