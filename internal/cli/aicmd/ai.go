// Package aicmd contains assetferry ai: commands that show the AI content service, send requests
// to it, and manage its contexts.
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

// NewCommand returns assetferry ai.
func NewCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "ai",
		Short: "Use the AI content service",
		Long: `These commands use the AI content service at --ai-url. They need no state
database and do not change assets. For the data that is sent, and for
on-premises installations, see assetferry help enrich.
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
		Short: "List the models and their limits",
		Long: `Models lists the models of the service with their limits. It also shows whether
the token permits a model, and the date of its removal.
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
				{Title: "ID"}, {Title: "Provider"}, {Title: "Allowed"}, {Title: "Context", Right: true}, {Title: "File", Right: true}, {Title: "Image", Right: true}, {Title: "Removal"}, {Title: "Description"},
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
		return "removed on " + at.Format(time.DateOnly)
	}
	return at.Format(time.DateOnly)
}

func newUsageCommand(f *command.Factory) *cobra.Command {
	var since, before string
	var users []string
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show the credits used, in total and by user",
		Long: `Usage shows the credits used in a period, by default since the first day of this
month. It shows the total of the environment, and the credits of each active
user or of the users in --of. If the service does not list a user in --of, the
command fails.

The token needs the permission ai:admin. On-premises installations do not bill,
so they have no usage.
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
	c.Flags().StringVar(&since, "since", "", "start of the period, a `date` such as 2026-01-31")
	c.Flags().StringVar(&before, "before", "", "end of the period, a `date` that is not included")
	c.Flags().StringArrayVar(&users, "of", nil, "show only this `user`, by the ID in the sub claim of the tokens (repeatable; default all active users)")
	return c
}

// period parses the dates of a period in local time.
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
		return from, to, exit.Usage(errors.New("--before must be later than --since"), "")
	}
	return from, to, nil
}

func showUsage(ctx context.Context, f *command.Factory, s *command.AIService, from, to time.Time, users []string) error {
	if len(users) == 0 {
		users = []string{ai.AllUsers}
	}
	used, err := s.Accounts.Usage(ctx, from, to, users...)
	if errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.CodeError, err, "on-premises installations do not bill; for the vendor's service, check --ai-url")
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
	var allUsers bool
	var limit int
	c := &cobra.Command{
		Use:   "conversations",
		Short: "List conversations",
		Long: `Conversations lists the conversations of the user of the token (--user), with
the latest change first. Conversations of enrich are in the group "assetferry".
Enrich deletes them after the answer, or in its next run. --all lists the
conversations of all users and needs the permission ai:admin.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 0 {
				return exit.Usage(errors.New("--limit must not be negative"), "omit the flag for no limit")
			}
			s, err := f.OpenAI(ctx)
			if err != nil {
				return err
			}
			return showConversations(ctx, f, s, group, allUsers, limit)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&group, "group", "", "list only conversations of this `group`")
	flags.BoolVar(&allUsers, "all", false, "list the conversations of all users")
	flags.IntVar(&limit, "limit", 0, "list at most this `number` of conversations")
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
					return exit.With(exit.CodeNoSuch, fmt.Errorf("there is no conversation %s of the user %s", id, s.User), "list the conversations, or select another user with --user:\n  assetferry ai conversations")
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

func showConversations(ctx context.Context, f *command.Factory, s *command.AIService, group string, allUsers bool, limit int) error {
	const layout = "%-32s  %-16s  %-12s  %s"
	n := 0
	all := s.Client.Conversations(ctx, ai.ConversationFilter{Group: group, SortBy: "updatedAt", Order: "desc"}, ai.Page{})
	if allUsers {
		all = s.Accounts.AdminConversations(ctx, "", ai.Page{})
	}
	for c, err := range all {
		switch {
		case err != nil:
			return err
		case allUsers && group != "" && c.Group != group:
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
