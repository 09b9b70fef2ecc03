package aiservice

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/jpeg" // to read their sizes
	_ "image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"assetferry/internal/sandbox/profile"
)

// A Profile says what the AI content service does where its documentation is silent, so that the
// stand-in can do as a real one was seen to do. The zero value is the stand-in's own choice in
// everything; of numbers, zero is that choice, too, and a negative one is no limit.
type Profile struct {
	Version int `yaml:"version"` // of the file; 1

	Lists    string `yaml:"lists"`    // all but that of messages: page or array
	Messages string `yaml:"messages"` // page or array
	Models   string `yaml:"models"`   // the key that holds them: items or models

	LargestPage int    `yaml:"largest_page"` // a larger limit is refused
	Order       string `yaml:"order"`        // that is asked for: honour or ignore

	Created      int    `yaml:"created"`       // the status: 201 or 200
	Deleted      int    `yaml:"deleted"`       // the status: 204 or 200
	DeletedAgain string `yaml:"deleted_again"` // what is gone already: refuse or accept

	TakenIDs  string `yaml:"taken_ids"`  // of conversations that exist: refuse or accept
	ReusedIDs string `yaml:"reused_ids"` // of conversations that were deleted: accept or refuse
	MaxID     int    `yaml:"max_id"`     // characters
	Group     string `yaml:"group"`      // of conversations: optional or required

	TinyImages string `yaml:"tiny_images"` // of a single pixel: accept or refuse
	IdleUsers  string `yaml:"idle_users"`  // asked about by ID, in usage: list or omit

	// What is only there for people.
	Service    string            `yaml:"service"`
	MeasuredAt string            `yaml:"measured_at"`
	Unknown    map[string]string `yaml:"unknown"` // why something was not measured
}

// ReadProfile reads a profile in YAML. What it does not know is an error, which shows the line;
// name is what the file is called in it.
func ReadProfile(name string, r io.Reader) (p Profile, err error) {
	return p, profile.ReadInto(name, r, &p)
}

// Check finds a value that is not allowed, and names its key.
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

// limit is a limit of the profile, or the stand-in's own.
func limit(of, own int) int {
	if of < 0 {
		return 1 << 30
	}
	return cmp.Or(of, own)
}

// isPlain reports whether a list comes as an array, and not page by page.
func (c *call) isPlain() bool {
	form := c.server.options.Profile.Lists
	if strings.HasSuffix(c.route.pattern, "/messages") {
		form = c.server.options.Profile.Messages
	}
	return form == "array"
}

// Reply answers with a value in JSON; what was made has the status that the profile says.
func (c *call) Reply(status int, v any) error {
	if status == http.StatusCreated {
		status = cmp.Or(c.server.options.Profile.Created, status)
	}
	return c.Exchange.Reply(status, v)
}

// Done answers that something is gone.
func (c *call) Done() error {
	if status := c.server.options.Profile.Deleted; status == http.StatusOK {
		return c.Reply(status, map[string]any{})
	}
	return c.Exchange.Done()
}

// isAlreadyDeleted reports whether a refusal is one that the profile does not know: that what is to
// be deleted is not there.
func (c *call) isAlreadyDeleted(p *problem) bool {
	return c.R.Method == http.MethodDelete && p.status == http.StatusNotFound && !c.route.open && c.server.options.Profile.DeletedAgain == "accept"
}

// A graveyard remembers the IDs of conversations that were deleted, for profiles in which they
// cannot be used again.
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

// refuseTiny refuses images of a single pixel, where the profile does.
func (p Profile) refuseTiny(data []byte) error {
	if p.TinyImages != "refuse" {
		return nil
	}
	if size, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && size.Width*size.Height == 1 {
		return refuse(http.StatusUnprocessableEntity, "image-too-small", "The image is a single pixel.")
	}
	return nil
}
