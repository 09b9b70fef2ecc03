package enrichcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"assetferry/internal/ai"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/pattern"
)

// maxOption is the maximum size of an option value in bytes.
const maxOption = 1 << 20

// credentialName matches names of options and fields whose values are probably credentials. It
// does not match "tokens", the unit of models.
var credentialName = pattern.Lazy(`(?i)header|authori[sz]ation|cookie|token($|[^s])|secret|password|credential|api.?key|bearer`)

// processingOptions parses options of Document Processing: NAME=JSON, NAME=@FILE or
// NAME=env:VARIABLE. Credentials must be in a file or a variable, because the command line is kept
// in the history of the shell and is visible to other users of the machine.
func processingOptions(f *command.Factory, given []string) (p ai.Processing, err error) {
	p.Options, p.Secret = map[string]json.RawMessage{}, map[string]bool{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return p, exit.Usage(errors.New("--option must have the form NAME=JSON"), `example: --option 'capabilities={"webSearch":{}}'`)
		}
		if _, twice := p.Options[name]; twice {
			return p, exit.Usage(fmt.Errorf("--option %s is given twice", name), "")
		}
		typed, err := optionValue(f, name, value)
		if err != nil {
			return p, err
		}
		if typed == nil {
			typed = []byte(value)
			if hasCredentials(name, typed) {
				return p, exit.Usage(fmt.Errorf("--option %s may contain credentials, which other users of this machine can see", name),
					fmt.Sprintf("use a file (--option %s=@FILE) or a variable (--option %s=env:NAME)", name, name))
			}
		} else {
			p.Secret[name] = true
		}
		p.Options[name] = bytes.TrimSpace(typed)
	}
	if err := p.CheckOptions(); err != nil {
		hint := `a string in JSON needs quotes: --option 'name="text"'`
		if errors.Is(err, ai.ErrReserved) {
			hint = "omit it: the command sets it; for the model use --ai-model"
		}
		return p, exit.Usage(fmt.Errorf("--option: %w", err), hint)
	}
	return p, nil
}

// optionValue reads a value from a file or a variable. It returns nil for other values.
func optionValue(f *command.Factory, name, value string) ([]byte, error) {
	if file, ok := strings.CutPrefix(value, "@"); ok {
		files, err := os.Open(file)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--option %s: %w", name, err), "put the name of a JSON file after @")
		}
		defer files.Close()
		data, err := io.ReadAll(io.LimitReader(files, maxOption+1))
		if err == nil && len(data) > maxOption {
			err = fmt.Errorf("%s is longer than %d bytes", file, maxOption)
		}
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--option %s: %w", name, err), "")
		}
		return append([]byte{}, data...), nil
	}
	if variable, ok := strings.CutPrefix(value, "env:"); ok {
		data, set := f.Lookup(variable)
		if !set || data == "" {
			return nil, exit.Usage(fmt.Errorf("--option %s: the variable %s is empty or not set", name, variable), "")
		}
		return []byte(data), nil
	}
	return nil, nil
}

// hasCredentials reports whether the name of an option, or of a field in it, suggests credentials.
func hasCredentials(name string, value []byte) bool {
	if credentialName().MatchString(name) {
		return true
	}
	var decoded any
	return json.Unmarshal(value, &decoded) == nil && anyField(decoded, credentialName().MatchString)
}

// anyField reports whether the name of any field in a JSON value satisfies is.
func anyField(value any, is func(string) bool) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if is(name) || anyField(inner, is) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if anyField(inner, is) {
				return true
			}
		}
	}
	return false
}
