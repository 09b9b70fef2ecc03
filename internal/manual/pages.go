// Package manual makes the manual pages of a program from its commands and its help topics.
package manual

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

// Options contain the data that a command itself does not have.
type Options struct {
	Date      string // in the foot of each page; may be empty
	Version   string // of the program
	ExitCodes func(*cobra.Command) []Item
	Flags     func(*cobra.Command) []Section
	Topic     func(*cobra.Command) (name string, ok bool) // the name of a topic; ok is false for a command
}

// A Section is a list with a title.
type Section struct {
	Title string
	Items []Item
}

// An Item is an entry of a list: a name, the kind of value that it takes, and its meaning.
type Item struct{ Name, Kind, Meaning string }

// Pages returns all pages of a program by file name: in section 1 a page for each command, in
// section 7 one for each topic.
func Pages(root *cobra.Command, o Options) map[string]string {
	pages := map[string]string{}
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		switch _, isTopic := o.Topic(c); {
		case isTopic:
			pages[o.name(c)+".7"] = o.topicPage(c)
		case c.IsAvailableCommand() || c.Name() == "help" || c == root:
			pages[o.name(c)+".1"] = o.commandPage(c)
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(root)
	return pages
}

func (o Options) name(c *cobra.Command) string {
	if topic, ok := o.Topic(c); ok {
		return o.name(c.Parent()) + "-" + topic
	}
	return strings.ReplaceAll(c.CommandPath(), " ", "-")
}

func (o Options) commandPage(c *cobra.Command) string {
	p := o.newPage(c, "1")
	p.heading("SYNOPSIS")
	p.macro("B", c.CommandPath())
	p.text(strings.TrimSpace(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	p.heading("DESCRIPTION")
	p.paragraphs(cmp.Or(c.Long, c.Short+"."))
	if subs := available(c); len(subs) > 0 {
		p.heading("COMMANDS")
		for _, sub := range subs {
			p.item(Item{Name: sub.Name(), Meaning: sub.Short})
		}
	}
	if c.HasExample() {
		p.heading("EXAMPLES")
		p.verbatim(c.Example)
	}
	p.heading("OPTIONS")
	for _, section := range o.Flags(c) {
		p.macro("SS", section.Title)
		p.items(section.Items)
	}
	p.heading("EXIT STATUS")
	p.items(o.ExitCodes(c))
	p.heading("SEE ALSO")
	p.text(strings.Join(o.seeAlso(c), ", "))
	return p.String()
}

// available lists the commands below one.
func available(c *cobra.Command) (subs []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			subs = append(subs, sub)
		}
	}
	return subs
}

// seeAlso names the page of the parent command; for the first command, all others.
func (o Options) seeAlso(c *cobra.Command) (pages []string) {
	if c.HasParent() {
		return []string{o.name(c.Parent()) + "(1)"}
	}
	for _, sub := range c.Commands() {
		switch _, isTopic := o.Topic(sub); {
		case isTopic:
			pages = append(pages, o.name(sub)+"(7)")
		case sub.IsAvailableCommand():
			pages = append(pages, o.name(sub)+"(1)")
		}
	}
	return pages
}

// topicPage keeps the layout of a topic, without indentation so that it fits.
func (o Options) topicPage(c *cobra.Command) string {
	p := o.newPage(c, "7")
	p.heading("DESCRIPTION")
	_, body, _ := strings.Cut(c.Long, "\n\n")
	p.verbatim(body)
	p.heading("SEE ALSO")
	p.text(o.name(c.Root()) + "(1)")
	return p.String()
}

func (o Options) newPage(c *cobra.Command, section string) *page {
	p := &page{}
	p.macro("TH", strings.ToUpper(o.name(c)), section, o.Date, c.Root().Name()+" "+o.Version, c.Root().Name())
	p.WriteString(".nh\n.ad l\n") // keeps commands in one piece
	p.heading("NAME")
	p.text(o.name(c) + " - " + c.Short)
	return p
}
