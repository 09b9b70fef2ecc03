package aiservice

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/jpeg" // for their sizes
	_ "image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"assetferry/internal/sandbox/profile"
)

// A Profile selects the undocumented behaviour of the AI content service, so that the stand-in can
// imitate measured behaviour. The zero value is the stand-in's own choice. For numbers, a negative
// value means no limit.
type Profile struct {
	Version int `yaml:"version"` // of the file format; 1

	Lists    string `yaml:"lists"`    // form of all lists but messages: page or array
	Messages string `yaml:"messages"` // form of messages: page or array
	Models   string `yaml:"models"`   // key of the list: items or models

	LargestPage int    `yaml:"largest_page"` // larger limits are refused
	Order       string `yaml:"order"`        // requested order: honour or ignore

	Created      int    `yaml:"created"`       // status: 201 or 200
	Deleted      int    `yaml:"deleted"`       // status: 204 or 200
	DeletedAgain string `yaml:"deleted_again"` // a second deletion: refuse or accept

	TakenIDs  string `yaml:"taken_ids"`  // IDs of existing conversations: refuse or accept
	ReusedIDs string `yaml:"reused_ids"` // IDs of deleted conversations: accept or refuse
	MaxID     int    `yaml:"max_id"`     // maximum length in characters
	Group     string `yaml:"group"`      // group of a conversation: optional or required

	TinyImages string `yaml:"tiny_images"` // images of one pixel: accept or refuse
	IdleUsers  string `yaml:"idle_users"`  // requested users without usage: list or omit

	// Information for people.
	Service    string            `yaml:"service"`
	MeasuredAt string            `yaml:"measured_at"`
	Unknown    map[string]string `yaml:"unknown"` // reasons for missing measurements
}

// ReadProfile parses a YAML profile. Unknown keys are errors with their line; name is the file name
// for messages.
func ReadProfile(name string, r io.Reader) (p Profile, err error) {
	return p, profile.ReadInto(name, r, &p)
}

// Check returns the key of an invalid value, and the error.
func (p *Profile) Check() (key string, err error) {
	if p.Version != 1 {
		return "version", fmt.Errorf("its version is %d, and only 1 is known", p.Version)
	}
	for _, w := range []struct{ key, value, allowed string }{
		{"lists", p.Lists, "page array"}, {"messages", p.Messages, "page array"}, {"models", p.Models, "items models"},
		{"order", p.Order, "honour ignore"}, {"deleted_again", p.DeletedAgain, "refuse accept"},
		{"taken_ids", p.TakenIDs, "refuse accept"}, {"reused_ids", p.ReusedIDs, "accept refuse"}, {"group", p.Group, "optional required"},
		{"tiny_images", p.TinyImages, "accept refuse"}, {"idle_users", p.IdleUsers, "list omit"},
		{"created", number(p.Created), "201 200"}, {"deleted", number(p.Deleted), "204 200"},
	} {
		if allowed := strings.Fields(w.allowed); w.value != "" && !slices.Contains(allowed, w.value) {
			return w.key, fmt.Errorf("%s: %q is not one of %s", w.key, w.value, strings.Join(allowed, ", "))
		}
	}
	return "", nil
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// limit returns a limit of the profile, or else that of the stand-in.
func limit(of, own int) int {
	if of < 0 {
		return 1 << 30
	}
	return cmp.Or(of, own)
}

// isPlain reports whether a list is an array without pages.
func (c *call) isPlain() bool {
	form := c.server.options.Profile.Lists
	if strings.HasSuffix(c.route.pattern, "/messages") {
		form = c.server.options.Profile.Messages
	}
	return form == "array"
}

// Reply responds with JSON; the profile sets the status of creations.
func (c *call) Reply(status int, v any) error {
	if status == http.StatusCreated {
		status = cmp.Or(c.server.options.Profile.Created, status)
	}
	return c.Exchange.Reply(status, v)
}

// Done responds to a deletion.
func (c *call) Done() error {
	if status := c.server.options.Profile.Deleted; status == http.StatusOK {
		return c.Reply(status, map[string]any{})
	}
	return c.Exchange.Done()
}

// isAlreadyDeleted reports whether an error must be ignored by the profile: the object to delete
// does not exist.
func (c *call) isAlreadyDeleted(p *problem) bool {
	return c.R.Method == http.MethodDelete && p.status == http.StatusNotFound && !c.route.open && c.server.options.Profile.DeletedAgain == "accept"
}

// A graveyard records the IDs of deleted conversations, for profiles that refuse to use them again.
type graveyard struct {
	mu   sync.Mutex
	dead map[string]bool
}

func grave(who identity, id string) string {
	return strings.Join([]string{who.environment, who.user, id}, "\x00")
}

func (g *graveyard) bury(who identity, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead == nil {
		g.dead = map[string]bool{}
	}
	g.dead[grave(who, id)] = true
}

func (g *graveyard) has(who identity, id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead[grave(who, id)]
}

// refuseTiny refuses images of one pixel if the profile does.
func (p Profile) refuseTiny(data []byte) error {
	if p.TinyImages != "refuse" {
		return nil
	}
	if size, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && size.Width*size.Height == 1 {
		return refuse(http.StatusUnprocessableEntity, "image-too-small", "The image is a single pixel.")
	}
	return nil
}
