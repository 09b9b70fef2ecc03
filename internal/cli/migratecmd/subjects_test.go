package migratecmd

import (
	"testing"

	"assetferry/internal/cli/command"
	"assetferry/internal/config"

	"github.com/google/go-cmp/cmp"
)

// The test verifies that a standing approval contains where a source is read, even if its URL does
// not.
func TestReachingLines(t *testing.T) {
	variables := map[string]string{}
	f := command.New(command.Environment{Lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok }}, false)
	for _, c := range []struct {
		name, url string
		settings  config.Settings
		variables map[string]string
		want      []string
	}{
		{"a folder", "/photos", config.Settings{Endpoint: "https://s3.example.com", TableRoot: "/files"}, nil, nil},
		{"a bucket at AWS", "s3://photos", config.Settings{}, nil, nil},
		{"a bucket elsewhere", "s3://photos", config.Settings{Endpoint: "https://s3.example.com"}, map[string]string{"AWS_ENDPOINT_URL": "https://other.example.com"},
			[]string{"endpoint: https://s3.example.com"}},
		{"a bucket elsewhere by a variable", "s3://photos", config.Settings{}, map[string]string{"AWS_ENDPOINT_URL": "https://s3.example.com"},
			[]string{"endpoint: https://s3.example.com"}},
		{"a bucket elsewhere by the variable for S3", "s3://photos", config.Settings{}, map[string]string{"AWS_ENDPOINT_URL": "https://other.example.com", "AWS_ENDPOINT_URL_S3": "https://s3.example.com"},
			[]string{"endpoint: https://s3.example.com"}},
		{"a table", "table:/export.csv", config.Settings{TableRoot: "/files", TableColumns: []string{"url=URL"}}, nil,
			[]string{"table_root: /files", `table_columns: ["url=URL"]`}},
	} {
		f.Settings, variables = &c.settings, c.variables
		if diff := cmp.Diff(c.want, reachingLines(f, c.url)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}
