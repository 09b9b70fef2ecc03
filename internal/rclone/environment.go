package rclone

import (
	"slices"
	"strings"

	"assetferry/internal/sorting"
)

// filters are the settings that remove objects from a listing. Only the filters of assetferry apply,
// because it reports what they remove: otherwise hidden objects would look deleted.
var filters = []string{
	"INCLUDE", "INCLUDE_FROM", "EXCLUDE", "EXCLUDE_FROM", "EXCLUDE_IF_PRESENT", "FILTER", "FILTER_FROM", "FILES_FROM", "FILES_FROM_RAW",
	"MIN_AGE", "MAX_AGE", "MIN_SIZE", "MAX_SIZE", "MAX_DEPTH", "IGNORE_CASE", "HASH_FILTER",
	"METADATA_INCLUDE", "METADATA_INCLUDE_FROM", "METADATA_EXCLUDE", "METADATA_EXCLUDE_FROM", "METADATA_FILTER", "METADATA_FILTER_FROM",
}

// ours are the settings, and ourPrefixes their prefixes, that decide how the program runs, listens
// and logs. We set these.
var (
	ours        = []string{"RC", "USE_SERVER_MODTIME", "DRY_RUN", "INTERACTIVE", "VERBOSE", "QUIET", "PROGRESS", "PROGRESS_TERMINAL_TITLE", "SYSLOG", "SYSLOG_FACILITY", "USE_JSON_LOG", "ASK_PASSWORD", "CPUPROFILE", "MEMPROFILE", "ERROR_ON_NO_TRANSFER", "DELETE_EXCLUDED"}
	ourPrefixes = []string{"RC_", "METRICS_", "LOG_", "STATS", "DUMP"}
)

// serverTimes makes rclone use the times of uploads where the times of files are metadata that costs a
// request for each, as in S3. They show changes as well.
const serverTimes = "RCLONE_USE_SERVER_MODTIME=true"

// strictNames makes rclone report names that it cannot decrypt instead of omitting them. Users may set
// another value, and older versions ignore it.
const strictNames = "RCLONE_CRYPT_STRICT_NAMES"

// withSettings adds our settings to the environment of rclone.
func withSettings(environ []string) []string {
	environ = append(environ, serverTimes)
	if valueOf(environ, strictNames) == "" {
		environ = append(environ, strictNames+"=true")
	}
	return environ
}

// childEnvironment returns the environment of rclone: ours, without our own variables, which may be
// secret, and without those of rclone that change a listing or the way it runs. ignored are the
// names of variables with filters, sorted.
func childEnvironment(environ []string) (kept, ignored []string) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name) // Windows ignores case, and Unix users do not have both
		setting, isRclone := strings.CutPrefix(name, "RCLONE_")
		switch {
		case strings.HasPrefix(name, "ASSETFERRY_"):
		case isRclone && slices.Contains(filters, setting):
			if value != "" {
				ignored = append(ignored, name)
			}
		case isRclone && isOurs(setting):
		default:
			kept = append(kept, entry)
		}
	}
	slices.Sort(ignored)
	return kept, slices.Compact(ignored)
}

func isOurs(setting string) bool {
	return slices.Contains(ours, setting) || slices.ContainsFunc(ourPrefixes, func(prefix string) bool { return strings.HasPrefix(setting, prefix) })
}

// IgnoredFilters returns the names of variables in environ that would hide objects, and that rclone
// does not get.
func IgnoredFilters(environ []string) []string {
	_, ignored := childEnvironment(environ)
	return ignored
}

// valueOf returns the value of a variable in an environment.
func valueOf(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // the last one counts
		}
	}
	return value
}

// secretNames are parts of names of variables and parameters whose values are secret.
var secretNames = []string{"pass", "secret", "token", "key", "credential", "auth", "cookie", "sas", "bearer", "private", "signature", "header"}

// LooksSecret reports whether the name of a variable or of a parameter of a connection string
// suggests a secret value.
func LooksSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}

// A Variable is a variable that rclone gets.
type Variable struct {
	Name, Value string
	Secret      bool
}

// Variables returns the variables of rclone in environ that rclone gets, and the folder of its
// configuration.
func Variables(environ []string) (found []Variable) {
	kept, _ := childEnvironment(environ)
	for _, entry := range kept {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case value == "":
		case strings.HasPrefix(name, "RCLONE_"):
			found = append(found, Variable{name, value, LooksSecret(name) || strings.Contains(value, "://") && strings.Contains(value, "@")})
		case name == "XDG_CONFIG_HOME":
			found = append(found, Variable{name, value, false})
		}
	}
	sorting.By(found, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return found
}
