// Package aicmd holds assetferry ai: commands that look at the AI content service, ask it, and
// look after its contexts.
package aicmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/ai"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

// NewCommand looks at the AI content service.
func NewCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "ai",
		Short: "Use and inspect the AI content service",
		Long: `These commands use the AI content service at --ai-url. They need no state
database and change no asset. assetferry help enrich explains what enrich sends
to the service, and how to run it on premises.
`,
	}
	c.AddCommand(newModelsCommand(f), newUsageCommand(f), newConversationsCommand(f), newAskCommand(f), newActionCommand(f), newReviewCommand(f), newContextsCommand(f))
	for _, sub := range c.Commands() {
		if !sub.HasSubCommands() || sub.Runnable() {
			command.AddAIFlags(sub.Flags())
		}
	}
	return c
}

func newModelsCommand(f *command.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "models",
		Short: "List the models with their limits",
		Long: `Models lists the models of the service, with their inputs and their date of
removal. It shows which of them the token may use.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			models, err := s.Client.Models(ctx)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, m := range models {
				f.Out.Event("model", modelLine(m))
				rows = append(rows, []string{m.ID, m.Provider, allowedText(m), ui.Count(m.Limits.MaxContextLength), ui.Bytes(m.Limits.MaxFileSize), ui.Bytes(m.Limits.MaxImageSize), removalText(m.Removal), m.Description})
			}
			f.Out.Printf("%s", ui.Table([]ui.Column{
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

func newUsageCommand(f *command.Factory) *cobra.Command {
	var since, before string
	var users []string
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show the credits used, in total and per user",
		Long: `Usage shows the credits used in a period, by default since the first of this
month. The total is that of the environment. The list has all active users, or
those of --of. A user that the service does not list is an error.

It needs a token with the scope ai:admin, and a service that bills.
`,
		Example: `  assetferry ai usage --since 2026-01-01
  assetferry ai usage --of anna --of ben`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			from, to, err := period(since, before, clock.Now())
			if err != nil {
				return err
			}
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			return showUsage(ctx, f, s, from, to, users)
		}),
	}
	c.Flags().StringVar(&since, "since", "", "first `date` of the period, such as 2026-01-31")
	c.Flags().StringVar(&before, "before", "", "`date` after the period")
	c.Flags().StringArrayVar(&users, "of", nil, "only the user with this `ID` in sub of the token (repeatable; default: all active users)")
	return c
}

// period reads the days that somebody asks about; in local time, as people mean it.
func period(since, before string, now time.Time) (from, to time.Time, err error) {
	now = now.Local()
	from, to = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location()), now
	if since != "" {
		if from, err = time.ParseInLocation(time.DateOnly, since, now.Location()); err != nil {
			return from, to, exit.Usage(fmt.Errorf("--since %q is not a date such as 2026-01-31", since), "")
		}
	}
	if before != "" {
		if to, err = time.ParseInLocation(time.DateOnly, before, now.Location()); err != nil {
			return from, to, exit.Usage(fmt.Errorf("--before %q is not a date such as 2026-01-31", before), "")
		}
	}
	if !from.Before(to) {
		return from, to, exit.Usage(errors.New("the period ends before it begins"), "")
	}
	return from, to, nil
}

func showUsage(ctx context.Context, f *command.Factory, s *command.AIService, from, to time.Time, users []string) error {
	if len(users) == 0 {
		users = []string{ai.AllUsers}
	}
	used, err := s.Accounts.Usage(ctx, from, to, users...)
	if errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.CodeError, err, "a service on premises bills nothing; if this is the vendor's, check --ai-url")
	} else if err != nil {
		return err
	}
	f.Out.Printf("Credits from %s to %s: %s", from.Format(time.DateTime), to.Format(time.DateTime), command.CreditsText(used.Credits))
	line := event.Usage{From: ui.UTC(from), To: ui.UTC(to), Credits: used.Credits, Allowance: used.Allowance}
	if used.Allowance != nil {
		f.Out.Printf("Allowance: %s", command.CreditsText(*used.Allowance))
	}
	f.Out.Event("usage", line)
	var rows [][]string
	for _, u := range used.Users {
		f.Out.Event("usage", event.Usage{From: line.From, To: line.To, User: u.UserID, Credits: u.Credits})
		rows = append(rows, []string{u.UserID, command.CreditsText(u.Credits)})
	}
	f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "User"}, {Title: "Credits", Right: true}}, rows))
	return nil
}

func newConversationsCommand(f *command.Factory) *cobra.Command {
	var group string
	var everybody bool
	var limit int
	c := &cobra.Command{
		Use:   "conversations",
		Short: "List conversations, or delete some",
		Long: `Conversations lists the conversations of the user of the token, the newest
change first. --all lists those of all users and needs the scope ai:admin.

Enrich uses the group "assetferry" and deletes each conversation after the
answer. The next run deletes any conversation that is left.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 0 {
				return exit.Usage(errors.New("--limit must not be negative"), "leave it out for no limit")
			}
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			return showConversations(ctx, f, s, group, everybody, limit)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&group, "group", "", "only conversations in this `group`")
	flags.BoolVar(&everybody, "all", false, "conversations of all users")
	flags.IntVar(&limit, "limit", 0, "show at most this `number` of conversations")
	remove := &cobra.Command{
		Use:   "rm ID...",
		Short: "Delete conversations with their attachments",
		Args:  cobra.MinimumNArgs(1),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			for _, id := range args {
				if _, err := s.Client.Conversation(ctx, id); errors.Is(err, fs.ErrNotExist) {
					return exit.With(exit.CodeNoSuch, fmt.Errorf("there is no conversation %s of the user %s", id, s.User), "assetferry ai conversations lists them; --user says whose")
				} else if err != nil {
					return err
				}
				if err := s.Client.DeleteConversation(ctx, id); err != nil {
					return err
				}
				f.Out.Printf("Deleted %s.", ui.Sanitize(id))
			}
			return nil
		}),
	}
	command.AddAIFlags(remove.Flags())
	c.AddCommand(remove)
	return c
}

func showConversations(ctx context.Context, f *command.Factory, s *command.AIService, group string, everybody bool, limit int) error {
	const layout = "%-32s  %-16s  %-12s  %s"
	n := 0
	all := s.Client.Conversations(ctx, ai.ConversationFilter{Group: group, SortBy: "updatedAt", Order: "desc"}, ai.Page{})
	if everybody {
		all = s.Accounts.AdminConversations(ctx, "", ai.Page{})
	}
	for c, err := range all {
		switch {
		case err != nil:
			return err
		case everybody && group != "" && c.Group != group:
			continue
		}
		if n++; n == 1 {
			f.Out.Printf(layout, "ID", "Changed", "Group", "Title")
		}
		title := c.Title
		if c.UserID != "" {
			title = c.UserID + ": " + title
		}
		f.Out.Printf(layout, ui.Sanitize(c.ID), ui.LocalTime(c.Changed()), ui.Sanitize(c.Group), ui.Sanitize(title))
		f.Out.Event("conversation", event.Conversation{
			ID: c.ID, User: c.UserID, Title: c.Title, Group: c.Group, Pinned: c.Pinned, CreatedAt: ui.UTC(c.CreatedAt), UpdatedAt: ui.UTC(c.UpdatedAt),
		})
		if n == limit {
			break
		}
	}
	f.Out.Notef("%s", ui.Counted(int64(n), "conversation"))
	return nil
}
