package state

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

// OSAccountName names the account of this process, by its number where the system has no name
// for it.
func OSAccountName() string {
	u, err := user.Current()
	if err != nil {
		return "uid " + strconv.Itoa(os.Getuid())
	}
	return cmp.Or(u.Username, "uid "+u.Uid)
}
