package aiprobe

import "assetferry/internal/profile"

// A Profile is the result of a probe. A value that was not measured is zero and has a reason in
// Unknown. For numbers, -1 means that no limit was found.
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

// unmeasurable returns the keys that cannot be measured without billed requests or changes for all
// users, with the reasons.
func unmeasurable() map[string]string {
	const billed = "it would be billed"
	return map[string]string{
		"stream":       billed + ": the events of a reply, including the last one",
		"credits":      billed + ": the credits per request, and the error after the last credit",
		"rate":         billed + ": the limit on requests per minute",
		"moderation":   billed + ": the error for a rejected prompt",
		"default_page": "it needs more conversations than a probe creates: the page size of requests without a limit",
		"contexts":     "it would change the contexts of all users: how the service stores contexts, their files and prompts",
	}
}

// Encode returns the profile as YAML for assetferry sandbox --ai-profile.
func (p Profile) Encode() ([]byte, error) { return profile.Encode(p, "an AI content service") }

// Rows returns the profile for people.
func (p Profile) Rows() []profile.Row {
	number := profile.Number
	return profile.Rows([]profile.Row{
		{"lists", p.Lists}, {"list of messages", p.Messages}, {"models", p.Models},
		{"largest page", number(p.LargestPage)}, {"order of lists", p.Order},
		{"status after creating", number(p.Created)}, {"status after deleting", number(p.Deleted)}, {"deleting again", p.DeletedAgain},
		{"ID in use", p.TakenIDs}, {"ID of a deleted conversation", p.ReusedIDs}, {"longest ID, characters", number(p.MaxID)}, {"group", p.Group},
		{"image of one pixel", p.TinyImages}, {"usage of an idle user", p.IdleUsers},
	}, p.Unknown)
}
