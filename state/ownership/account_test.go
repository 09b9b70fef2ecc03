package ownership

import (
	"errors"
	"os/user"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAccountWithoutName verifies that an account that the system does not list is named by its
// number, whatever its variables say. With a name of its choice it could approve its own plans.
func TestAccountWithoutName(t *testing.T) {
	t.Setenv("USER", "eve")
	t.Setenv("LOGNAME", "eve")
	unlisted := func(string) (*user.User, error) { return nil, errors.New("unknown userid") }
	if got := accountName("5001", unlisted); got != "uid 5001" {
		t.Errorf("got %q", got)
	}
	if got := accountName("4294967290", user.LookupId); got != "uid 4294967290" { // which no system lists
		t.Errorf("got %q", got)
	}
	listed := func(uid string) (*user.User, error) { return &user.User{Uid: uid, Username: "ada"}, nil }
	if got := accountName("5001", listed); got != "ada" {
		t.Errorf("got %q", got)
	}
}
