package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/ai"
	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

// aiCommand looks at the AI content service.
func (a *app) aiCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ai",
		Short: "Look at the AI content service, and use it",
		Long: `These commands talk to the AI content service at --ai-url. They need no journal
and change nothing in the library. What enrich does with the service, what is
sent where, and how to stay on premises: assetferry help enrich.
`,
	}
	c.AddCommand(a.aiModelsCommand(), a.aiUsageCommand(), a.aiConversationsCommand(), a.aiAskCommand(), a.aiActionCommand(), a.aiReviewCommand(), a.aiContextsCommand())
	for _, sub := range c.Commands() {
		if !sub.HasSubCommands() || sub.Runnable() {
			addAIFlags(sub.Flags())
		}
	}
	return c
}

// addAIFlags adds what decides how the AI content service is talked to.
func addAIFlags(f *pflag.FlagSet) {
	setting(f, "ai-limits", "which `limits` to keep to: auto keeps to those of the service at the vendor's, and to none elsewhere")
	setting(f, "ai-compatibility", "compatibility `version` of the models to ask for: GET /v1/models/VERSION")
	f.StringArray("ai-permission", nil, "ask for this `scope` in tokens, in place of those that a command needs (repeatable)")
	f.StringArray("ai-route", nil, "`ENDPOINT=METHOD /path` of an endpoint whose address is a guess (repeatable)")
}

func (a *app) aiModelsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "models",
		Short: "List the models with their limits",
		Long: `Models lists the models that the service has, whether our token may use them,
and what they take. One that is to be removed says when.
`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			s, err := a.openAI(ctx)
			if err != nil {
				return err
			}
			models, err := s.client.Models(ctx)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, m := range models {
				a.out.Event("model", modelLine(m))
				rows = append(rows, []string{m.ID, m.Provider, allowedText(m), ui.Count(m.Limits.MaxContextLength), ui.Bytes(m.Limits.MaxFileSize), ui.Bytes(m.Limits.MaxImageSize), removalText(m.Removal), m.Description})
			}
			a.out.Printf("%s", ui.Table([]ui.Column{
				{Title: "ID"}, {Title: "Provider"}, {Title: "For us"}, {Title: "Context", Right: true}, {Title: "File", Right: true}, {Title: "Image", Right: true}, {Title: "Goes"}, {Title: "About"},
			}, rows))
			return nil
		}),
	}
}

func modelLine(m ai.Model) event.Model {
	l := event.Model{
		ID: m.ID, Name: m.Name, Provider: m.Provider, Description: m.Description, Allowed: m.Allowed, Recommended: m.Recommended,
		MaxContextLength: m.Limits.MaxContextLength, MaxFiles: m.Limits.MaxFiles, MaxFileSize: m.Limits.MaxFileSize,
		MaxImageSize: m.Limits.MaxImageSize, MaxTotalFileSize: m.Limits.MaxTotalFileSize, MaxPDFPages: m.Limits.MaxTotalPDFFilePages,
	}
	if !m.Removal.IsZero() {
		l.Removal = m.Removal.Format(time.DateOnly)
	}
	return l
}

func allowedText(m ai.Model) string {
	switch {
	case !m.Allowed:
		return "no"
	case m.Recommended:
		return "yes, recommended"
	}
	return "yes"
}

func removalText(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case !at.After(clock.Now()):
		return "gone since " + at.Format(time.DateOnly)
	}
	return at.Format(time.DateOnly)
}

func (a *app) aiUsageCommand() *cobra.Command {
	var since, before string
	var users []string
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show the credits that were used, in total and by user",
		Long: `Usage shows the credits that were used in a period: since the first of this
month, unless --since says otherwise. The total is that of the environment; the
users are all who were active in the period, or those that --of names. A user
whom the service does not list is an error, and never taken for 0.

It takes a token with the scope ai:admin, and a service that bills: one on
premises does not.
`,
		Example: `  assetferry ai usage --since 2026-01-01
  assetferry ai usage --of anna --of ben`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			from, to, err := period(since, before, clock.Now())
			if err != nil {
				return err
			}
			s, err := a.openAI(ctx)
			if err != nil {
				return err
			}
			return a.showUsage(ctx, s, from, to, users)
		}),
	}
	c.Flags().StringVar(&since, "since", "", "from this `date` on, such as 2026-01-31")
	c.Flags().StringVar(&before, "before", "", "up to this `date`, which does not count")
	c.Flags().StringArrayVar(&users, "of", nil, "only this `user`, by the ID in sub of its tokens (repeatable; default all who were active)")
	return c
}

// period reads the days that somebody asks about; in local time, as people mean it.
func period(since, before string, now time.Time) (from, to time.Time, err error) {
	now = now.Local()
	from, to = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location()), now
	if since != "" {
		if from, err = time.ParseInLocation(time.DateOnly, since, now.Location()); err != nil {
			return from, to, usage(fmt.Errorf("--since %q is not a date such as 2026-01-31", since), "")
		}
	}
	if before != "" {
		if to, err = time.ParseInLocation(time.DateOnly, before, now.Location()); err != nil {
			return from, to, usage(fmt.Errorf("--before %q is not a date such as 2026-01-31", before), "")
		}
	}
	if !from.Before(to) {
		return from, to, usage(errors.New("the period ends before it begins"), "")
	}
	return from, to, nil
}

func (a *app) showUsage(ctx context.Context, s *aiService, from, to time.Time, users []string) error {
	if len(users) == 0 {
		users = []string{ai.AllUsers}
	}
	used, err := s.accounts.Usage(ctx, from, to, users...)
	if errors.Is(err, fs.ErrNotExist) {
		return with(exitError, err, "a service on premises bills nothing; if this is the vendor's, check --ai-url")
	} else if err != nil {
		return err
	}
	a.out.Printf("Credits from %s to %s: %s", from.Format(time.DateTime), to.Format(time.DateTime), creditsText(used.Credits))
	line := event.Usage{From: utc(from), To: utc(to), Credits: used.Credits, Allowance: used.Allowance}
	if used.Allowance != nil {
		a.out.Printf("Allowance: %s", creditsText(*used.Allowance))
	}
	a.out.Event("usage", line)
	var rows [][]string
	for _, u := range used.Users {
		a.out.Event("usage", event.Usage{From: line.From, To: line.To, User: u.UserID, Credits: u.Credits})
		rows = append(rows, []string{u.UserID, creditsText(u.Credits)})
	}
	a.out.Printf("%s", ui.Table([]ui.Column{{Title: "User"}, {Title: "Credits", Right: true}}, rows))
	return nil
}

// creditsText writes a number of credits as short as it is exact to a hundredth.
func creditsText(n float64) string {
	return strconv.FormatFloat(float64(int64(n*100+0.5))/100, 'f', -1, 64)
}

func (a *app) aiConversationsCommand() *cobra.Command {
	var group string
	var everybody bool
	var limit int
	c := &cobra.Command{
		Use:   "conversations",
		Short: "List conversations, ours or with --all those of everybody",
		Long: `Conversations lists the conversations of the user of the token (--user), the
last changed first. What enrich makes is in the group "assetferry", and is
deleted once it has an answer; one that is left behind is deleted by the next
run of enrich. --all lists those of all users, which takes the scope ai:admin.
`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 0 {
				return usage(errors.New("--limit must not be negative"), "leave it out for no limit")
			}
			s, err := a.openAI(ctx)
			if err != nil {
				return err
			}
			return a.showConversations(ctx, s, group, everybody, limit)
		}),
	}
	f := c.Flags()
	f.StringVar(&group, "group", "", "only those of this `group`")
	f.BoolVar(&everybody, "all", false, "those of all users")
	f.IntVar(&limit, "limit", 0, "show at most this `number` of conversations")
	remove := &cobra.Command{
		Use:   "rm ID...",
		Short: "Delete conversations with all that was attached to them",
		Args:  cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			s, err := a.openAI(ctx)
			if err != nil {
				return err
			}
			for _, id := range args {
				if _, err := s.client.Conversation(ctx, id); errors.Is(err, fs.ErrNotExist) {
					return with(exitNoSuch, fmt.Errorf("there is no conversation %s of the user %s", id, s.user), "assetferry ai conversations lists them; --user says whose")
				} else if err != nil {
					return err
				}
				if err := s.client.DeleteConversation(ctx, id); err != nil {
					return err
				}
				a.out.Printf("Deleted %s.", ui.Sanitize(id))
			}
			return nil
		}),
	}
	addAIFlags(remove.Flags())
	c.AddCommand(remove)
	return c
}

func (a *app) showConversations(ctx context.Context, s *aiService, group string, everybody bool, limit int) error {
	const layout = "%-32s  %-16s  %-12s  %s"
	n := 0
	all := s.client.Conversations(ctx, ai.ConversationFilter{Group: group, SortBy: "updatedAt", Order: "desc"}, ai.Page{})
	if everybody {
		all = s.accounts.AdminConversations(ctx, "", ai.Page{})
	}
	for c, err := range all {
		switch {
		case err != nil:
			return err
		case everybody && group != "" && c.Group != group:
			continue
		}
		if n++; n == 1 {
			a.out.Printf(layout, "ID", "Changed", "Group", "Title")
		}
		title := c.Title
		if c.UserID != "" {
			title = c.UserID + ": " + title
		}
		a.out.Printf(layout, ui.Sanitize(c.ID), localTime(c.Changed()), ui.Sanitize(c.Group), ui.Sanitize(title))
		a.out.Event("conversation", event.Conversation{
			ID: c.ID, User: c.UserID, Title: c.Title, Group: c.Group, Pinned: c.Pinned, CreatedAt: utc(c.CreatedAt), UpdatedAt: utc(c.UpdatedAt),
		})
		if n == limit {
			break
		}
	}
	a.out.Notef("%s", count(int64(n), "conversation"))
	return nil
}
