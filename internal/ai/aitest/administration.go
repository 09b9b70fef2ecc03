package aitest

import (
	"io/fs"
	"slices"
	"testing"
	"time"

	"assetferry/internal/ai"
)

func administrationLaws() []law {
	return []law{
		{guess("an administrator lists the conversations of one user or of all users"), listsForAdministrators},
		{guess("a context can be created, changed, listed and deleted"), keepsContexts},
		{guess("a context stores files"), keepsContextFiles},
		{guess("a context stores prompts"), keepsPrompts},
		{guess("a context library groups contexts"), keepsLibraries},
		{"only administrators can change contexts", refusesOthers},
	}
}

func (s *scratch) admin() *ai.Client { return s.as(Caller{Permissions: s.service.Admin}) }

func listsForAdministrators(t *testing.T, s *scratch) {
	id := s.conversation(t)
	users := map[string]string{} // by conversation, as listed
	for _, c := range collect(t, s.admin().AdminConversations(t.Context(), "")) {
		users[c.ID] = c.UserID
	}
	if users[id] == "" {
		t.Fatal("the conversation is not listed with its user")
	}
	own := ids(collect(t, s.admin().AdminConversations(t.Context(), users[id])), conversationID)
	if !slices.Contains(own, id) {
		t.Errorf("conversations of %s: got %v, want %s included", users[id], own, id)
	}
	if other := ids(collect(t, s.admin().AdminConversations(t.Context(), "assetferry-test-other")), conversationID); slices.Contains(other, id) {
		t.Errorf("conversations of another user: got %v", other)
	}
}

// context creates a context and deletes it at the end.
func (s *scratch) context(t *testing.T, admin *ai.Client) string {
	t.Helper()
	id, err := admin.CreateContext(t.Context(), ai.Context{Name: unique("context"), Instructions: "Be brief."})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.DeleteContext(cleaning(t), id); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return id
}

func keepsContexts(t *testing.T, s *scratch) {
	admin := s.admin()
	id := s.context(t, admin)
	changed, err := admin.UpdateContext(t.Context(), id, ai.Changes{"description": "d"})
	if err != nil || changed.ID != id || changed.Description != "d" || changed.Instructions != "Be brief." {
		t.Errorf("changed: got %+v, %v", changed, err)
	}
	for what, read := range map[string]func() (ai.Context, error){
		"as an administrator": func() (ai.Context, error) { return admin.AdminContext(t.Context(), id) },
		"as a user":           func() (ai.Context, error) { return s.Context(t.Context(), id) },
	} {
		if got, err := read(); err != nil || got.ID != id || got.Description != "d" {
			t.Errorf("read %s: got %+v, %v", what, got, err)
		}
	}
	contextID := func(c ai.Context) string { return c.ID }
	if all := ids(collect(t, admin.AdminContexts(t.Context())), contextID); !slices.Contains(all, id) {
		t.Errorf("contexts of an administrator: got %v", all)
	}
	if all := ids(collect(t, s.Contexts(t.Context())), contextID); !slices.Contains(all, id) {
		t.Errorf("contexts of a user: got %v", all)
	}
	if all := s.say(t, s.conversation(t), ai.Message{Prompt: "Say hello.", Content: []ai.Item{ai.ContextRef{ID: id}.Item()}}); joined(all) == "" {
		t.Error("a message with a context has no reply")
	}
	if err := admin.DeleteContext(t.Context(), id); err != nil {
		t.Error(err)
	}
	_, err = admin.AdminContext(t.Context(), id)
	is(t, "after deleting", err, fs.ErrNotExist)
}

func keepsContextFiles(t *testing.T, s *scratch) {
	admin := s.admin()
	in := s.context(t, admin)
	id, err := admin.UploadContextFile(t.Context(), in, file("a.txt", "text/plain", []byte("text")))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{id}
	if s.service.Page != "" {
		fetched, err := admin.FetchContextFile(t.Context(), in, s.service.Page, "page.html")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fetched)
	}
	if got, err := admin.ContextFile(t.Context(), in, id); err != nil || got.ID != id || got.Name != "a.txt" {
		t.Errorf("got %+v, %v", got, err)
	}
	if all := ids(collect(t, admin.ContextFiles(t.Context(), in)), func(f ai.StoredFile) string { return f.ID }); !sameIDs(all, want) {
		t.Errorf("listed: got %v, want %v", all, want)
	}
	if err := admin.DeleteContextFile(t.Context(), in, id); err != nil {
		t.Error(err)
	}
	_, err = admin.ContextFile(t.Context(), in, id)
	is(t, "after deleting", err, fs.ErrNotExist)
}

func keepsPrompts(t *testing.T, s *scratch) {
	admin := s.admin()
	in := s.context(t, admin)
	id, err := admin.CreatePrompt(t.Context(), in, ai.Prompt{Name: "n", Prompt: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := admin.UpdatePrompt(t.Context(), in, id, ai.Changes{"prompt": "q"}); err != nil || got.Prompt != "q" || got.Name != "n" {
		t.Errorf("changed: got %+v, %v", got, err)
	}
	if got, err := admin.Prompt(t.Context(), in, id); err != nil || got != (ai.Prompt{ID: id, Name: "n", Prompt: "q"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if all := collect(t, admin.Prompts(t.Context(), in)); len(all) != 1 || all[0].ID != id {
		t.Errorf("listed: got %+v", all)
	}
	if err := admin.DeletePrompt(t.Context(), in, id); err != nil {
		t.Error(err)
	}
	_, err = admin.Prompt(t.Context(), in, id)
	is(t, "after deleting", err, fs.ErrNotExist)
}

func keepsLibraries(t *testing.T, s *scratch) {
	admin := s.admin()
	in := s.context(t, admin)
	id, err := admin.CreateContextLibrary(t.Context(), ai.ContextLibrary{Name: unique("library"), ContextIDs: []string{in}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.DeleteContextLibrary(cleaning(t), id); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	if got, err := admin.ContextLibrary(t.Context(), id); err != nil || !slices.Equal(got.ContextIDs, []string{in}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := admin.UpdateContextLibrary(t.Context(), id, ai.Changes{"contextIds": []string{}}); err != nil || len(got.ContextIDs) > 0 {
		t.Errorf("changed: got %+v, %v", got, err)
	}
	if all := ids(collect(t, admin.ContextLibraries(t.Context())), func(l ai.ContextLibrary) string { return l.ID }); !slices.Contains(all, id) {
		t.Errorf("listed: got %v", all)
	}
	if err := admin.DeleteContextLibrary(t.Context(), id); err != nil {
		t.Error(err)
	}
	_, err = admin.ContextLibrary(t.Context(), id)
	is(t, "after deleting", err, fs.ErrNotExist)
}

func refusesOthers(t *testing.T, s *scratch) {
	_, err := s.CreateContext(t.Context(), ai.Context{Name: unique("context")})
	if e := refused(t, "a context", err); e.Status != 403 || !slices.Contains(e.MissingPermissions(), "ai:admin") {
		t.Errorf("got %v", err)
	}
	for _, err := range s.AdminConversations(t.Context(), "") {
		if e := refused(t, "the listing", err); e.Status != 403 {
			t.Errorf("got %v", err)
		}
	}
}

// reportsUsage does not check the cost of a request, which only the service knows. The answer has
// all users whose IDs are given, and with "*" all active users.
func reportsUsage(t *testing.T, s *scratch) {
	s.say(t, s.conversation(t), ai.Message{Prompt: "Say hello."})
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	total, err := s.admin().Usage(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	if len(total.Users) > 0 {
		t.Errorf("usage without user IDs: got the users %+v", total.Users)
	}
	all, err := s.admin().Usage(t.Context(), from, to, ai.AllUsers)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, u := range all.Users {
		sum += u.Credits
	}
	if all.Credits <= 0 || all.Credits < total.Credits || sum < all.Credits*0.999 || sum > all.Credits*1.001 {
		t.Errorf("got %v credits in total, but %v for all users", all.Credits, sum)
	}
	if len(all.Users) == 0 {
		t.Fatal("no user is listed")
	}
	one, err := s.admin().Usage(t.Context(), from, to, all.Users[0].UserID)
	if err != nil || len(one.Users) != 1 || one.Users[0].UserID != all.Users[0].UserID || one.Users[0].Credits <= 0 {
		t.Errorf("usage of %s: got %+v, %v", all.Users[0].UserID, one, err)
	}
	if nothing, err := s.admin().Usage(t.Context(), from.Add(-2*time.Hour), from.Add(-time.Hour), ai.AllUsers); err != nil || nothing.Credits >= all.Credits {
		t.Errorf("usage of an earlier hour: got %+v, %v", nothing, err)
	}
}

// describesItself does not verify guesses, because the description is the means to correct them.
func describesItself(t *testing.T, s *scratch) {
	d, err := s.Description(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Compare(d) {
		if c.Standing == ai.Confirmed {
			continue
		}
		switch {
		case c.Route.Guess, c.Endpoint == "Usage" && !s.service.Billed, c.Endpoint == "Health":
			t.Logf("endpoint %s (%s): %s %s", c.Endpoint, c.Route, c.Standing, c.At)
		default:
			t.Errorf("endpoint %s (%s): %s %s", c.Endpoint, c.Route, c.Standing, c.At)
		}
	}
}
