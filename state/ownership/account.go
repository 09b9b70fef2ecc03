package ownership

import (
	"cmp"
	"os"
	"os/user"
	"strconv"
)

// OSAccount names the account of this process and its machine, as name@host.
func OSAccount() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return OSAccountName() + "@" + host
}

// OSAccountName returns the name of the account of this process, or its number if it has no name.
func OSAccountName() string {
	if uid := os.Getuid(); uid >= 0 {
		return accountName(strconv.Itoa(uid), user.LookupId)
	}
	u, err := user.Current() // Windows has no such numbers
	if err != nil {
		return "unknown"
	}
	return cmp.Or(u.Username, "unknown")
}

// accountName does not take the name from user.Current: without cgo, that gives $USER for an
// account that /etc/passwd does not list, so the account could name itself as it likes.
func accountName(uid string, lookup func(string) (*user.User, error)) string {
	u, err := lookup(uid)
	if err != nil {
		return "uid " + uid
	}
	return cmp.Or(u.Username, "uid "+uid)
}
