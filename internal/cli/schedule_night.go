package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/config"
	"assetferry/internal/schedule"
	"assetferry/sources/ckbox"
	"assetferry/sources/s3"
)

// nightLimit is how long a run may take that has no limit of its own: the next night must
// find it over.
const nightLimit = 23 * time.Hour

// A night is what is to be started, and what has to be seen to before.
type night struct {
	schedule.Task
	inherited config.Inheritance
	root      bool
	own       bool     // for the manager of the account itself
	makeFirst []string // folders that are not there
	first     string   // a command that has to run before; empty: it did

	source, destination, job, config, state string                  // what it is of: see header
	makeSecrets                             []config.CredentialFile // that become files of Credentials
}

// night puts together what is started for a source.
func (a *app) night(ctx context.Context, cmd *cobra.Command, source string, o scheduleOptions, at config.TimeOfDay) (n night, err error) {
	destination, err := a.settings.Destination()
	if err != nil {
		return n, err
	}
	if source, err = a.wholeSource(ctx, source); err != nil {
		return n, err
	}
	if n.inherited, err = a.settings.Inherit(destination); err != nil {
		return n, err
	}
	if strings.HasPrefix(source, ckbox.Scheme+"://") {
		if n.inherited, err = a.inheritWorkspace(n.inherited, source); err != nil {
			return n, err
		}
	}
	account, err := user.Current()
	if err != nil {
		return n, err
	}
	n.root, n.own = account.Uid == "0", o.ownManager
	n.inherited.Variables = append(n.inherited.Variables, a.others(source, destination)...)
	n.Hour, n.Minute, n.Limit = at.Hour, at.Minute, a.longestNight()
	if err := a.identify(ctx, &n, source, destination); err != nil {
		return n, err
	}
	n.About = fmt.Sprintf("Sync of %s (assetferry)", source)
	n.Helpers = n.inherited.Helper
	if !o.ownManager {
		n.Account = account.Username
	}
	flags, files, err := carriedFlags(cmd)
	if err != nil {
		return n, err
	}
	n.inherited.Read = append(n.inherited.Read, files...)
	if n.Command, err = a.nightCommand(source, append(n.inherited.Switches, flags...)); err != nil {
		return n, err
	}
	if o.loadCredentials {
		if err := a.loadCredentials(&n, destination); err != nil {
			return n, err
		}
	}
	if err := a.places(&n, source, destination); err != nil {
		return n, err
	}
	n.makeFirst = n.madeByNobody(o)
	return n, a.environ(&n, o)
}

// wholeSource is a source as it is called from any folder. It must be there: a mistake in
// it shows by day.
func (a *app) wholeSource(ctx context.Context, source string) (string, error) {
	if !config.IsAddress(source) {
		_, identity, err := a.openSource(ctx, source, nil)
		return identity, err
	}
	if strings.HasPrefix(source, ckbox.Scheme+"://") {
		_, err := a.workspace(source)
		return source, err
	}
	if isConnector(source) {
		_, err := parseConnector(source)
		return source, err
	}
	if isTable(source) {
		return wholeTable(source)
	}
	_, err := s3.ParseAddress(source)
	if err != nil {
		return "", badAddress(err)
	}
	return source, nil
}

// carriedFlags are the flags of this call that are no settings and that the sync takes as
// well, and the files that they name.
func carriedFlags(cmd *cobra.Command) (flags, files []string, err error) {
	for _, name := range []string{"checksum", "describe-again"} {
		if on, _ := cmd.Flags().GetBool(name); on {
			flags = append(flags, "--"+name)
		}
	}
	if d, _ := cmd.Flags().GetDuration("settle-time"); cmd.Flags().Changed("settle-time") {
		flags = append(flags, "--settle-time="+d.String())
	}
	if name, _ := cmd.Flags().GetString("files-from"); name != "" {
		if name, err = filepath.Abs(name); err != nil {
			return nil, nil, err
		}
		if _, err = os.Stat(name); err != nil {
			return nil, nil, usage(fmt.Errorf("--files-from: %w", err), "")
		}
		flags, files = append(flags, "--files-from="+name), append(files, name)
	}
	return flags, files, nil
}

// longestNight is when a run hangs.
func (a *app) longestNight() time.Duration {
	if d := a.settings.MaxDuration; d > 0 {
		return d + time.Hour
	}
	return nightLimit
}

// nightCommand is the command line, without anything that depends on a folder.
func (a *app) nightCommand(source string, switches []string) ([]string, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	command := []string{program, "sync"}
	if a.settings.Job == "" {
		command = append(command, source)
	} else {
		command = append(command, "--job", a.settings.Job)
	}
	if a.settings.File != "" {
		file, err := filepath.Abs(a.settings.File)
		if err != nil {
			return nil, err
		}
		command = append(command, "--config", file)
	}
	return append(command, switches...), nil
}

// thisProgram is the path of this program as it was called, which may be a link that leads
// to a new version one day.
func thisProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return program, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return program, nil
	}
	if there, err := os.Stat(called); err == nil {
		if here, err := os.Stat(program); err == nil && os.SameFile(here, there) {
			return called, nil
		}
	}
	return program, nil
}

// places finds out what has to be read and written.
func (a *app) places(n *night, source string, d config.Destination) error {
	n.Read = n.inherited.Read
	if !config.IsAddress(source) {
		n.Read = append([]string{source}, n.Read...)
	} else if path, ok := config.TableOf(source); ok { // another table is put into the same folder
		n.Read = append(slices.Concat(existing(filepath.Dir(path)), existing(a.settings.TableRoot)), n.Read...)
	} else if home, ok := a.lookup("HOME"); ok {
		n.Read = append(n.Read, existing(filepath.Join(home, ".aws"))...)
	}
	for _, f := range n.inherited.Written {
		n.Written = append(n.Written, filepath.Dir(f))
	}
	ours, err := config.DefaultState(a.lookup, "any", "")
	if err != nil {
		return err
	}
	ours = filepath.Dir(ours)
	n.Log = filepath.Join(ours, n.Name+".log") // and not beside a journal that may be in the source
	if a.settings.State == "" {
		n.Written = append(n.Written, ours)
	}
	if d.Kind == config.Sandbox {
		dir, err := config.SandboxDir(a.lookup)
		if err != nil {
			return err
		}
		n.Written = append(n.Written, dir)
	}
	slices.Sort(n.Written)
	n.Written = slices.Compact(n.Written)
	n.Read = append(n.Read, namedBy(n.inherited.Variables)...)
	n.Read = append(n.Read, elsewhere(n.Command[:1], n.Read, n.Written)...)
	if a.settings.File == "" || n.Helpers { // a file of settings in another folder would count
		folder, err := os.Getwd()
		n.Folder = folder
		return err
	}
	return nil
}

// madeByNobody are the folders that are not there and that no run makes: the service can
// make none, and cron's shell does not make that of the log.
func (n night) madeByNobody(o scheduleOptions) []string {
	folders := n.Written
	switch {
	case o.format == "cron":
		folders = []string{filepath.Dir(n.Log)}
	case o.ownManager:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(folders), func(folder string) bool {
		_, err := os.Stat(folder)
		return err == nil
	})
}

// namedBy are the files and folders that variables name.
func namedBy(variables []config.Variable) (found []string) {
	for _, v := range variables {
		if filepath.IsAbs(v.Value) {
			found = append(found, v.Value)
		}
	}
	return found
}

// elsewhere is where paths lead that have links in them: that must be there, too.
func elsewhere(paths ...[]string) (found []string) {
	for _, path := range slices.Concat(paths...) {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			found = append(found, real)
		}
	}
	return found
}

func existing(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []string{path}
}

// environ parts the variables into those that everybody may see, and those that stand in a
// file.
func (a *app) environ(n *night, o scheduleOptions) error {
	if home, _ := a.lookup("HOME"); home != "" { // cron and systemd may have another one for the account
		n.Environment = append(n.Environment, schedule.Variable{Name: "HOME", Value: home})
	}
	if path, _ := a.lookup("PATH"); n.Helpers && path != "" { // on which the programs were found that have the credentials
		n.Environment = append(n.Environment, schedule.Variable{Name: "PATH", Value: eachOnce(path)})
	}
	for _, v := range n.inherited.Variables {
		if !v.Secret {
			n.Environment = append(n.Environment, schedule.Variable{Name: v.Name, Value: v.Value})
		}
	}
	if len(n.secrets()) == 0 {
		return nil
	}
	file, err := n.secretFile(o, "env")
	n.SecretFile = file
	return err
}

// eachOnce is a PATH without folders that are in it twice: a line of cron is short.
func eachOnce(path string) string {
	var folders []string
	for _, folder := range filepath.SplitList(path) {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return strings.Join(folders, string(filepath.ListSeparator))
}

// secretFile is where a file with secrets of the schedule is.
func (n night) secretFile(o scheduleOptions, ending string) (string, error) {
	folder := "/etc"
	if o.ownManager || o.format == "cron" {
		var err error
		if folder, err = os.UserConfigDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "assetferry", strings.TrimPrefix(n.Name, "assetferry-")+"."+ending), nil
}

// secrets are the names of the variables that must stand in a file.
func (n night) secrets() (names []string) {
	for _, v := range n.inherited.Variables {
		if v.Secret {
			names = append(names, v.Name)
		}
	}
	return names
}

// others are the variables that matter and are no settings.
func (a *app) others(source string, d config.Destination) (found []config.Variable) {
	names := []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"}
	if a.settings.State == "" {
		names = append(names, "XDG_STATE_HOME")
	}
	if d.Kind == config.Sandbox {
		names = append(names, "XDG_DATA_HOME")
	}
	if config.IsAddress(source) {
		names = append(names, awsVariables...)
	}
	for _, name := range names {
		value, _ := a.lookup(name)
		switch {
		case value == "":
		case isSecret(name, value):
			found = append(found, config.Variable{Name: name, Secret: true})
		default:
			found = append(found, config.Variable{Name: name, Value: wholePaths(name, value)})
		}
	}
	return found
}

// awsVariables are those of the AWS SDK that decide what is read, from where, and as who.
var awsVariables = []string{
	"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE",
	"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_SSO", "AWS_ENDPOINT_URL_SSO_OIDC", "AWS_ENDPOINT_URL_SIGNIN",
	"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT", "AWS_S3_USE_ARN_REGION",
	"AWS_S3_DISABLE_MULTIREGION_ACCESS_POINTS", "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH", "AWS_ACCOUNT_ID", "AWS_ACCOUNT_ID_ENDPOINT_MODE", "AWS_AUTH_SCHEME_PREFERENCE",
	"AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_LOGIN_CACHE_DIRECTORY",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "AWS_EC2_METADATA_V1_DISABLED",
	"AWS_DEFAULTS_MODE", "AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE", "AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY", "AWS_SECRET_KEY",
}

// wholePaths makes the paths in a variable absolute, since a scheduled run starts in another
// folder.
func wholePaths(name, value string) string {
	paths := []string{value}
	switch name {
	case "SSL_CERT_DIR":
		paths = filepath.SplitList(value)
	case "SSL_CERT_FILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_LOGIN_CACHE_DIRECTORY":
	default:
		return value
	}
	for i, path := range paths {
		if full, err := filepath.Abs(path); err == nil && path != "" {
			paths[i] = full
		}
	}
	return strings.Join(paths, string(filepath.ListSeparator))
}

// isSecret reports whether a variable opens something, as an address with a password does.
func isSecret(name, value string) bool {
	return slices.Contains([]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_CONTAINER_AUTHORIZATION_TOKEN"}, name) ||
		strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@")
}
