package private

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

const (
	regular = fs.FileMode(0)
	dir     = fs.ModeDir
)

// refused fails unless an error has these words, "" for no error.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), want) || e.Hint() == "" {
		t.Errorf("got %v, want one with %q and a hint", err, want)
	}
}

// TestFolders verifies that a folder is accepted if only its owner and root can rename files in it.
func TestFolders(t *testing.T) {
	alice := Account{User: 1000, Group: 1000}
	for name, c := range map[string]struct {
		a    Access
		want string
	}{
		"ours":                    {Access{Owner: 1000, Group: 1000, Mode: dir | 0o755}, ""},
		"root's":                  {Access{Owner: 0, Group: 0, Mode: dir | 0o755}, ""},
		"of our own group":        {Access{Owner: 1000, Group: 1000, Mode: dir | 0o775}, ""},
		"of the group of root":    {Access{Owner: 0, Group: 0, Mode: dir | 0o770}, ""},
		"of another group":        {Access{Owner: 1000, Group: 100, Mode: dir | 0o775}, "group"},
		"of all":                  {Access{Owner: 1000, Group: 1000, Mode: dir | 0o777}, "all accounts"},
		"of all, but sticky":      {Access{Owner: 0, Group: 0, Mode: dir | fs.ModeSticky | 0o777}, "all accounts"},
		"of another account":      {Access{Owner: 300_001, Group: 300_001, Mode: dir | 0o755}, "belongs to account"},
		"of another one, private": {Access{Owner: 300_001, Group: 300_001, Mode: dir | 0o700}, "belongs to account"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, alice.judgeFolder("/x", "--state /x/private/a.db", c.a), c.want) })
	}
	// The group of an account that shares it is another group.
	refused(t, Account{User: 1000, Group: 100}.judgeFolder("/x", "", Access{Owner: 1000, Group: 1000, Mode: dir | 0o775}), "group")
	refused(t, Account{User: 0, Group: 0}.judgeFolder("/x", "--data /y", Access{Owner: 1000, Mode: dir | 0o755}), "belongs to account")
}

func TestFiles(t *testing.T) {
	alice := Account{User: 1000, Group: 1000}
	for name, c := range map[string]struct {
		a    Access
		want string
	}{
		"ours":               {Access{Owner: 1000, Mode: regular | 0o600}, ""},
		"ours, too open":     {Access{Owner: 1000, Mode: regular | 0o666}, ""}, // repaired
		"a folder":           {Access{Owner: 1000, Mode: dir | 0o700}, ""},
		"of another account": {Access{Owner: 300_001, Mode: regular | 0o666}, "belongs to account 300001"},
		"of root":            {Access{Owner: 0, Mode: regular | 0o666}, "belongs to account"},
		"a link":             {Access{Owner: 1000, Mode: fs.ModeSymlink | 0o777}, "neither"},
		"a pipe":             {Access{Owner: 1000, Mode: fs.ModeNamedPipe | 0o600}, "neither"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, alice.judgeFile("/x", "--state", c.a), c.want) })
	}
}

// TestReading verifies that root may read a file of any account if only that account could have
// written it, and that others may read their own files and those of root.
func TestReading(t *testing.T) {
	private := Access{Owner: 1000, Mode: dir | 0o700}
	for name, c := range map[string]struct {
		me        Account
		a, folder Access
		want      string
	}{
		"own":                      {Account{1000, 1000}, Access{Owner: 1000}, private, ""},
		"of root":                  {Account{1000, 1000}, Access{Owner: 0, Mode: 0o644}, Access{Owner: 0, Mode: dir | 0o755}, ""},
		"of another":               {Account{1000, 1000}, Access{Owner: 300_001, Mode: 0o644}, Access{Owner: 0, Mode: dir | 0o755}, "belongs to"},
		"by root":                  {Account{0, 0}, Access{Owner: 1000}, private, ""},
		"by root, in a shared":     {Account{0, 0}, Access{Owner: 1000}, Access{Owner: 1000, Mode: dir | 0o777}, "all accounts"},
		"by root, open to all":     {Account{0, 0}, Access{Owner: 1000, Mode: 0o666}, private, "is writable by other accounts"},
		"of root, open to a group": {Account{1000, 1000}, Access{Owner: 0, Mode: 0o664}, Access{Owner: 0, Mode: dir | 0o755}, "is writable by other accounts"},
		"own, open to all":         {Account{1000, 1000}, Access{Owner: 1000, Mode: 0o666}, private, ""}, // repaired
		"by root, in a third":      {Account{0, 0}, Access{Owner: 1000}, Access{Owner: 300_001, Mode: dir | 0o700}, "belongs to account 300001"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, c.me.judgeReading("/x/a.db", "--state", "--state /y", c.a, c.folder), c.want)
		})
	}
}

func TestLogs(t *testing.T) {
	alice := Account{User: 1000, Group: 1000}
	own, shared := Access{Owner: 1000, Mode: dir | 0o755}, Access{Owner: 0, Mode: dir | fs.ModeSticky | 0o777}
	for name, c := range map[string]struct {
		a, folder Access
		known     bool
		want      string
	}{
		"ours":                        {Access{Owner: 1000, Mode: 0o600, Links: 1}, shared, true, ""},
		"of another account":          {Access{Owner: 300_001, Mode: 0o666, Links: 1}, shared, true, "belongs to account 300001"},
		"a second name, shared":       {Access{Owner: 1000, Mode: 0o600, Links: 2}, shared, true, "several hard links"},
		"a second name, among ours":   {Access{Owner: 1000, Mode: 0o600, Links: 2}, own, true, ""},
		"a device":                    {Access{Owner: 0, Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, Links: 1}, own, true, ""},
		"a disk":                      {Access{Owner: 1000, Mode: fs.ModeDevice | 0o600, Links: 1}, own, true, "not a regular file"},
		"a folder":                    {Access{Owner: 1000, Mode: dir | 0o700}, own, true, "not a regular file"},
		"a system of other accounts":  {Access{Mode: 0o666}, Access{}, false, ""},
		"a pipe on such a system":     {Access{Mode: fs.ModeNamedPipe}, Access{}, false, "not a regular file"},
		"a pipe":                      {Access{Owner: 1000, Mode: fs.ModeNamedPipe | 0o600}, own, true, "not a regular file"},
		"a device of such a system":   {Access{Mode: fs.ModeDevice | fs.ModeCharDevice}, Access{}, false, ""},
		"a second name, of no system": {Access{Mode: 0o666, Links: 2}, Access{}, false, ""},
	} {
		t.Run(name, func(t *testing.T) { refused(t, alice.judgeLog("/x/a.log", c.a, c.folder, c.known), c.want) })
	}
}

func TestRepaired(t *testing.T) {
	for want, paths := range map[string][]string{
		"Other accounts had access to a. They have none now.":            {"a"},
		"Other accounts had access to a and 2 more. They have none now.": {"a", "b", "c"},
	} {
		if got := Repaired(paths); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
