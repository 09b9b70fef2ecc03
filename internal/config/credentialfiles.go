package config

import "path/filepath"

// A CredentialFile is a secret that another process can get as a file instead of a variable, such
// as with LoadCredential= of systemd.
type CredentialFile struct {
	ID           string // the kind of credential, for people and for systemd
	Variable     string // the variable with the secret; "" if it is in File
	File         string // the absolute path of the file with the secret; "" if it is in Variable
	FileVariable string // that names the file to the other process
}

// CredentialFiles lists the secrets of a sync to d that can be files. d must be the destination of
// the settings. A destination that --to names beats the environment, so no variable can name
// another file for its key, and it is omitted.
func (s *Settings) CredentialFiles(d Destination) ([]CredentialFile, error) {
	headers, err := s.SourceHeaders()
	if err != nil {
		return nil, err
	}
	_, password, err := s.WordPress()
	if err != nil {
		return nil, err
	}
	var all []CredentialFile
	if s.origin["to"] != FromFlag || d.Name == "" {
		all = append(all, CredentialFile{"access_key", d.AccessKey.variable, d.AccessKey.file, accessKey + "_FILE"})
	}
	all = append(all, CredentialFile{"source_headers", headers.variable, headers.file, sourceHeaders + "_FILE"})
	all = append(all, CredentialFile{"wordpress_password", password.variable, password.file, wordPressPassword + "_FILE"})
	if s.origin["notify"] >= FromEnvironment && s.NotifyFile == "" {
		all = append(all, CredentialFile{"notify", "ASSETFERRY_NOTIFY", "", "ASSETFERRY_NOTIFY_FILE"})
	}
	found := all[:0]
	for _, c := range all {
		if c.Variable == "" && c.File == "" {
			continue
		}
		if c.File != "" {
			if c.File, err = filepath.Abs(c.File); err != nil {
				return nil, err
			}
		}
		found = append(found, c)
	}
	return found, nil
}
