package aiprobe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
)

// A Profile is what was found out. What was not has its zero value and a reason in Unknown. Of
// numbers, -1 says that no limit was found.
type Profile struct {
	Version    int    `yaml:"version"`
	Service    string `yaml:"service"`
	MeasuredAt string `yaml:"measured_at"`

	Lists    string `yaml:"lists,omitempty"`
	Messages string `yaml:"messages,omitempty"`
	Models   string `yaml:"models,omitempty"`

	LargestPage int    `yaml:"largest_page,omitempty"`
	Order       string `yaml:"order,omitempty"`

	Created      int    `yaml:"created,omitempty"`
	Deleted      int    `yaml:"deleted,omitempty"`
	DeletedAgain string `yaml:"deleted_again,omitempty"`

	TakenIDs  string `yaml:"taken_ids,omitempty"`
	ReusedIDs string `yaml:"reused_ids,omitempty"`
	MaxID     int    `yaml:"max_id,omitempty"`
	Group     string `yaml:"group,omitempty"`

	TinyImages string `yaml:"tiny_images,omitempty"`
	IdleUsers  string `yaml:"idle_users,omitempty"`

	Unknown map[string]string `yaml:"unknown,omitempty"`
}

// unmeasurable is what no probe can find out without being billed, or without changing what is
// there for all.
func unmeasurable() map[string]string {
	const billed = "it would be billed"
	return map[string]string{
		"stream":       billed + ": the events of a reply, and the one that ends it",
		"credits":      billed + ": what a call costs, and the answer once they are used up",
		"rate":         billed + ": how many calls a minute are too many",
		"moderation":   billed + ": what a refused prompt looks like",
		"default_page": "it takes more conversations than a probe makes: how many items come where a request names no limit",
		"contexts":     "it would change what applies to everybody: how contexts, their files and prompts are kept",
	}
}

// Encode writes the profile as YAML, in which assetferry sandbox --ai-profile reads it.
func (p Profile) Encode() ([]byte, error) {
	text, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode profile: %w", err)
	}
	head := "# What an AI content service does where its documentation is silent; assetferry help profile\n# says what each line means.\n"
	return append([]byte(head), text...), nil
}

// A Row is a part of the profile in words.
type Row struct{ Name, Value string }

// Rows gives the profile for people.
func (p Profile) Rows() []Row {
	rows := []Row{
		{"lists", p.Lists}, {"list of messages", p.Messages}, {"models", p.Models},
		{"largest page", number(p.LargestPage)}, {"order of lists", p.Order},
		{"status of what is made", number(p.Created)}, {"status of what is deleted", number(p.Deleted)}, {"deleting it again", p.DeletedAgain},
		{"ID that is taken", p.TakenIDs}, {"ID that was deleted", p.ReusedIDs}, {"ID, characters", number(p.MaxID)}, {"group", p.Group},
		{"image of a single pixel", p.TinyImages}, {"usage of an idle user", p.IdleUsers},
	}
	for i, r := range rows {
		rows[i].Value = cmp.Or(r.Value, "not known")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Unknown)) {
		rows = append(rows, Row{"not measured: " + name, p.Unknown[name]})
	}
	return rows
}

func number(n int) string {
	switch {
	case n < 0:
		return "no limit found"
	case n == 0:
		return ""
	}
	return strconv.Itoa(n)
}
