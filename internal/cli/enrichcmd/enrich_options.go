package enrichcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"assetferry/internal/ai"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
)

// maxOption is the most that the value of an option may have.
const maxOption = 1 << 20

// credentialName is what the name of an option, or of a field in it, has in it where its value is
// likely to open something; tokens are what models count.
var credentialName = regexp.MustCompile(`(?i)header|authori[sz]ation|cookie|token($|[^s])|secret|password|credential|api.?key|bearer`)

// processingOptions reads options of Document Processing: each NAME=JSON, NAME=@FILE or
// NAME=env:VARIABLE. What may hold credentials has to be in a file or a variable, because what is
// typed stays in the history of the shell, and everybody on the machine can see it.
func processingOptions(f *command.Factory, given []string) (p ai.Processing, err error) {
	p.Options, p.Secret = map[string]json.RawMessage{}, map[string]bool{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return p, exit.Usage(errors.New("--option is not of the form NAME=JSON"), `for instance --option 'capabilities={"webSearch":{}}'`)
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
			if opens(name, typed) {
				return p, exit.Usage(fmt.Errorf("--option %s may hold credentials, which others on this machine can see here", name),
					fmt.Sprintf("write the value into a file, and say --option %s=@FILE, or put it into a variable, and say --option %s=env:NAME", name, name))
			}
		} else {
			p.Secret[name] = true
		}
		p.Options[name] = bytes.TrimSpace(typed)
	}
	if err := p.CheckOptions(); err != nil {
		hint := `text in JSON has quotes: --option 'name="text"'`
		if errors.Is(err, ai.ErrReserved) {
			hint = "leave it out: the command sets it, the model by --ai-model"
		}
		return p, exit.Usage(fmt.Errorf("--option: %w", err), hint)
	}
	return p, nil
}

// optionValue reads the value of an option that is elsewhere; nil: it is not.
func optionValue(f *command.Factory, name, value string) ([]byte, error) {
	if file, ok := strings.CutPrefix(value, "@"); ok {
		files, err := os.Open(file)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--option %s: %w", name, err), "name a file with the value in JSON behind @")
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

// opens reports whether an option may hold credentials: by its name, or by that of a field in it.
func opens(name string, value []byte) bool {
	if credentialName.MatchString(name) {
		return true
	}
	var decoded any
	return json.Unmarshal(value, &decoded) == nil && anyField(decoded, credentialName.MatchString)
}

// anyField reports whether a field within a JSON value has a name of a kind.
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
