package aitest

import (
	"io/fs"
	"slices"
	"testing"
	"time"

	"assetferry/internal/ai"
)

func conversationLaws() []law {
	return []law{
		{"a conversation can be created, read and listed", makesConversations},
		{guess("the ID of a conversation is unique"), takesIDsOnce},
		{guess("a conversation can be renamed and pinned"), changesConversations},
		{"a deleted conversation no longer exists", deletesConversations},
		{"conversations are listed in the order of creation, forwards and backwards, from every cursor", pagesConversations},
		{guess("a list follows the requested order"), ordersConversations},
		{guess("a list can exclude conversations without messages"), excludesEmpty},
		{"users cannot access the conversations of other users", isolatesUsers},
	}
}

func conversationID(c ai.Conversation) string { return c.ID }

func (s *scratch) listed(t *testing.T, f ai.ConversationFilter, pages ...ai.Page) []string {
	t.Helper()
	f.Group = s.group
	return ids(collect(t, s.Conversations(t.Context(), f, pages...)), conversationID)
}

func makesConversations(t *testing.T, s *scratch) {
	id := s.conversation(t)
	c, err := s.Conversation(t.Context(), id)
	if err != nil || c.ID != id {
		t.Errorf("got %+v, %v", c, err)
	}
	all := collect(t, s.Conversations(t.Context(), ai.ConversationFilter{Group: s.group}))
	if len(all) != 1 || all[0].ID != id {
		t.Fatalf("listed: got %+v", all)
	}
	if age := time.Since(all[0].CreatedAt); age.Abs() > 10*time.Minute || all[0].Pinned {
		t.Errorf("got %+v", all[0])
	}
}

func takesIDsOnce(t *testing.T, s *scratch) {
	id := s.conversation(t)
	_, err := s.CreateConversation(t.Context(), ai.NewConversation{ID: id, Group: s.group})
	is(t, "created again", err, fs.ErrExist)
}

func changesConversations(t *testing.T, s *scratch) {
	id := s.conversation(t)
	if err := s.RenameConversation(t.Context(), id, "Ünïcode <title>"); err != nil {
		t.Fatal(err)
	}
	if err := s.PinConversation(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	c, err := s.Conversation(t.Context(), id)
	if err != nil || c.Title != "Ünïcode <title>" || !c.Pinned {
		t.Errorf("got %+v, %v", c, err)
	}
	if err := s.PinConversation(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if c, err = s.Conversation(t.Context(), id); err != nil || c.Title != "Ünïcode <title>" || c.Pinned {
		t.Errorf("unpinned: got %+v, %v", c, err)
	}
}

func deletesConversations(t *testing.T, s *scratch) {
	id := s.conversation(t)
	for range 2 { // the second time it is already deleted
		if err := s.DeleteConversation(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Conversation(t.Context(), id)
	is(t, "read", err, fs.ErrNotExist)
	is(t, "message", ended(s.Send(t.Context(), id, ai.Message{Prompt: "Hello", Model: s.model.ID})), fs.ErrNotExist)
	if got := s.listed(t, ai.ConversationFilter{}); got != nil {
		t.Errorf("listed: got %v", got)
	}
}

func pagesConversations(t *testing.T, s *scratch) {
	var made []string
	for range 5 {
		made = append(made, s.conversation(t))
	}
	oldest := ai.ConversationFilter{SortBy: "createdAt", Order: "asc"}
	type cursors struct{ next, previous string }
	var met []cursors
	forward := s.listed(t, oldest, ai.Page{Limit: 2, OnPage: func(next, previous string) { met = append(met, cursors{next, previous}) }})
	if !slices.Equal(forward, made) {
		t.Fatalf("got %v, want %v", forward, made)
	}
	if slices.Equal(met, []cursors{{}}) {
		return // the complete list as a plain array
	}
	if len(met) != 3 || met[0].previous != "" || met[2].next != "" {
		t.Fatalf("got the cursors %+v, want three pages", met)
	}
	for n, at := range met[:2] {
		if got := s.listed(t, oldest, ai.Page{Limit: 2, Cursor: at.next}); !slices.Equal(got, made[2*n+2:]) {
			t.Errorf("forwards from page %d: got %v, want the end of %v", n, got, made)
		}
		before := slices.Clone(made[:2*n+2])
		slices.Reverse(before)
		if got := s.listed(t, oldest, ai.Page{Limit: 2, Cursor: met[n+1].previous, Backward: true}); !slices.Equal(got, before) {
			t.Errorf("backwards from page %d: got %v, want %v", n+1, got, before)
		}
	}
}

func ordersConversations(t *testing.T, s *scratch) {
	first, second := s.conversation(t), s.conversation(t)
	for _, order := range []struct {
		f    ai.ConversationFilter
		want []string
	}{
		{ai.ConversationFilter{SortBy: "createdAt", Order: "asc"}, []string{first, second}},
		{ai.ConversationFilter{SortBy: "createdAt", Order: "desc"}, []string{second, first}},
	} {
		if got := s.listed(t, order.f); !slices.Equal(got, order.want) {
			t.Errorf("%+v: got %v, want %v", order.f, got, order.want)
		}
	}
}

func excludesEmpty(t *testing.T, s *scratch) {
	s.conversation(t)
	used := s.conversation(t)
	s.say(t, used, ai.Message{Prompt: "Say hello."})
	if got := s.listed(t, ai.ConversationFilter{ExcludeEmpty: true}); !slices.Equal(got, []string{used}) {
		t.Errorf("got %v, want %s", got, used)
	}
}

func isolatesUsers(t *testing.T, s *scratch) {
	id := s.conversation(t)
	other := s.as(Caller{User: "assetferry-test-other"})
	_, err := other.Conversation(t.Context(), id)
	is(t, "read by another user", err, fs.ErrNotExist)
	for _, err := range other.Messages(t.Context(), id) {
		is(t, "messages listed by another user", err, fs.ErrNotExist)
	}
	if err := other.DeleteConversation(t.Context(), id); err != nil {
		t.Errorf("deleted by another user, who cannot see it: %v", err)
	}
	if got := collect(t, other.Conversations(t.Context(), ai.ConversationFilter{Group: s.group})); len(got) > 0 {
		t.Errorf("listed by another user: %+v", got)
	}
	if _, err := s.Conversation(t.Context(), id); err != nil {
		t.Errorf("after the requests of another user: %v", err)
	}
}
