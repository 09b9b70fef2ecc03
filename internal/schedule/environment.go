package schedule

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assetferry/internal/config"
	"assetferry/internal/hint"
)

// environ divides the variables into public ones and those in a secret file.
func (j *Job) environ() error {
	if home, _ := j.Lookup("HOME"); home != "" { // cron and systemd may set another one for the account
		j.Environment = append(j.Environment, Variable{Name: "HOME", Value: home})
	}
	if path, _ := j.Lookup("PATH"); j.Helpers && path != "" { // where the programs that it starts were found
		j.Environment = append(j.Environment, Variable{Name: "PATH", Value: eachOnce(path)})
	}
	for _, v := range j.Inherited.Variables {
		if !v.Secret {
			j.Environment = append(j.Environment, Variable{Name: v.Name, Value: v.Value})
		}
	}
	if len(j.secrets()) == 0 {
		return nil
	}
	file, err := j.secretFile("env")
	j.SecretFile = file
	return err
}

// eachOnce returns a PATH without duplicate folders, since cron lines are short.
func eachOnce(path string) string {
	var folders []string
	for _, folder := range filepath.SplitList(path) {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return strings.Join(folders, string(filepath.ListSeparator))
}

// secretFile returns the path of a file with secrets of the schedule.
func (j *Job) secretFile(ending string) (string, error) {
	folder := "/etc"
	if j.UserUnit || j.Cron {
		var err error
		if folder, err = os.UserConfigDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "assetferry", strings.TrimPrefix(j.Name, "assetferry-")+"."+ending), nil
}

// secrets returns the names of the secret variables.
func (j *Job) secrets() (names []string) {
	for _, v := range j.Inherited.Variables {
		if v.Secret {
			names = append(names, v.Name)
		}
	}
	return names
}

// others returns the variables that a run needs and that are not settings.
func (j *Job) others() (found []config.Variable) {
	names := []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"}
	if j.Settings.State == "" {
		names = append(names, "XDG_STATE_HOME")
	}
	if j.To.Kind == config.Sandbox {
		names = append(names, "XDG_DATA_HOME")
	}
	if config.IsURL(j.Source) {
		names = append(names, awsVariables...)
	}
	for _, name := range names {
		value, _ := j.Lookup(name)
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

// awsVariables are the variables of the AWS SDK that select data, endpoints and identities.
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

// wholePaths makes the paths in a variable absolute, since a scheduled run starts in another folder.
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

// isSecret reports whether a variable is a credential, such as a URL with a password.
func isSecret(name, value string) bool {
	return slices.Contains([]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_CONTAINER_AUTHORIZATION_TOKEN"}, name) ||
		strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@")
}

// loadCredentials makes systemd pass secrets as files.
func (j *Job) loadCredentials() error {
	found, err := j.Settings.CredentialFiles(j.To)
	if err != nil {
		return err
	}
	for _, c := range found {
		from := c.File
		if from == "" {
			if from, err = j.secretFile(c.ID); err != nil {
				return err
			}
			j.makeSecrets = append(j.makeSecrets, config.CredentialFile{ID: c.ID, Variable: c.Variable, File: from})
		}
		j.Credentials = append(j.Credentials, Credential{ID: c.ID, File: from, Variable: c.FileVariable})
		j.Inherited.Variables = slices.DeleteFunc(j.Inherited.Variables, func(v config.Variable) bool {
			return v.Name == c.Variable || v.Name == c.FileVariable
		})
	}
	if len(found) == 0 {
		return hint.Usage(errors.New("--load-credential finds no secret in an environment variable or a file"),
			"omit --load-credential; or set the destination in the configuration file (to: NAME) instead of --to, with access_key_file")
	}
	return nil
}
