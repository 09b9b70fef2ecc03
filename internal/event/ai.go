package event

// A Model is a "model" event: a model of the AI content service. Limits that the
// service does not tell are left out; sizes are in bytes.
type Model struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	Provider         string `json:"provider"`
	Description      string `json:"description,omitempty"`
	Allowed          bool   `json:"allowed"` // to our token
	Recommended      bool   `json:"recommended"`
	Removal          string `json:"removal,omitempty"` // the day on which it goes
	MaxContextLength int64  `json:"max_context_length,omitempty"`
	MaxFiles         int64  `json:"max_files,omitempty"`
	MaxFileSize      int64  `json:"max_file_size,omitempty"`
	MaxImageSize     int64  `json:"max_image_size,omitempty"`
	MaxTotalFileSize int64  `json:"max_total_file_size,omitempty"`
	MaxPDFPages      int64  `json:"max_pdf_pages,omitempty"`
}

// A Usage is a "usage" event: the credits of a period, of all users or of one.
type Usage struct {
	From      string   `json:"from"`
	To        string   `json:"to"`
	User      string   `json:"user,omitempty"` // empty: of all
	Credits   float64  `json:"credits"`
	Allowance *float64 `json:"allowance,omitempty"` // where the service tells it
}

// A Conversation is a "conversation" event.
type Conversation struct {
	ID        string `json:"id"`
	User      string `json:"user,omitempty"` // where those of all users are listed
	Title     string `json:"title"`
	Group     string `json:"group,omitempty"`
	Pinned    bool   `json:"pinned"`
	CreatedAt string `json:"created_at,omitempty"`
	UpdatedAt string `json:"updated_at,omitempty"`
}

// An Answer is an "answer" event: what the AI content service said to a question.
type Answer struct {
	Text    string   `json:"text"`
	Sources []string `json:"sources"` // addresses that the service names
}

// A Suggestion is a "suggestion" event: an element that a review would change.
type Suggestion struct {
	Element string `json:"element"` // its data-id
	Text    string `json:"text"`    // that it would have, in HTML
}

// A Context is a "context" event: a context of the AI content service.
type Context struct {
	ID           string          `json:"id,omitempty"` // none of one that is to be created
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	AppliesTo    []string        `json:"applies_to,omitempty"` // by itself
	Prompts      []ContextPrompt `json:"prompts,omitempty"`
	Files        []ContextFile   `json:"files,omitempty"`
	State        string          `json:"state,omitempty"` // done, planned
}

// A ContextPrompt is a prompt of a context.
type ContextPrompt struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Prompt string `json:"prompt,omitempty"`
}

// A ContextFile is a file of a context.
type ContextFile struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// A Survey is a "survey" event: what is wrong with how many descriptions.
type Survey struct {
	Assets   int64            `json:"assets"`
	Pictures int64            `json:"pictures"` // of these
	Findings map[string]int64 `json:"findings"` // by name, of pictures

	Languages map[string]int64 `json:"languages"` // of descriptions of pictures; unknown among them
}

// A Finding is a "finding" event: a picture whose description is missing or no good.
type Finding struct {
	AssetID     string   `json:"asset_id"`
	Path        string   `json:"path"`
	Findings    []string `json:"findings"`
	Description string   `json:"description"`
	Language    string   `json:"language,omitempty"` // of the description, if it is known
}

// An Enrichment is an "enrichment" event: what became of one asset.
type Enrichment struct {
	AssetID     string   `json:"asset_id"`
	Path        string   `json:"path,omitempty"`
	Kind        string   `json:"kind"`
	Language    string   `json:"language,omitempty"`
	State       string   `json:"state"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Decorative  bool     `json:"decorative,omitempty"`
	Note        string   `json:"note,omitempty"`
	Class       string   `json:"class,omitempty"` // of error
	Error       string   `json:"error,omitempty"`
	Flagged     []string `json:"flagged,omitempty"` // categories of moderation
}

// A Proposal is a "proposal" event: what is proposed for one asset.
type Proposal struct {
	ID             string   `json:"id"`
	AssetID        string   `json:"asset_id"`
	Name           string   `json:"name"`
	Category       string   `json:"category"`
	Folder         string   `json:"folder"`
	Kind           string   `json:"kind"`
	Language       string   `json:"language,omitempty"`
	State          string   `json:"state"`
	OldDescription string   `json:"old_description"`
	OldTags        []string `json:"old_tags"`
	Description    string   `json:"description"`
	Tags           []string `json:"tags"`
	Attribute      string   `json:"attribute,omitempty"` // custom attribute that the text is for
	Decorative     bool     `json:"decorative"`
	Calls          int      `json:"calls"` // that were billed
	Model          string   `json:"model,omitempty"`
	Remark         string   `json:"remark,omitempty"`
}

// A Decisions is a "decisions" event: how many proposals a person decided on.
type Decisions struct {
	Accepted   int64 `json:"accepted"`
	Rejected   int64 `json:"rejected"`
	Decorative int64 `json:"decorative"`
	Open       int64 `json:"open"` // in the file and left undecided
	Late       int64 `json:"late"` // in the file and applied or given up since
}

// An Estimate is an "estimate" event: what would leave for the AI content service, and
// what that takes.
type Estimate struct {
	Service string           `json:"service"` // host
	Kind    string           `json:"kind"`
	Assets  int64            `json:"assets"` // that would leave
	Calls   int64            `json:"calls"`  // that are billed
	Credits *float64         `json:"credits,omitempty"`
	Seconds Seconds          `json:"seconds"`
	Bytes   int64            `json:"bytes"` // of pictures, at most
	Held    map[string]int64 `json:"held"`  // back, by reason

	Contexts      []string `json:"contexts,omitempty"`       // that go along
	OtherContexts int64    `json:"other_contexts,omitempty"` // of those held back as known: proposed with other contexts
}

// A Leaving is a "leaving" event: whether one asset would leave for the AI content
// service.
type Leaving struct {
	AssetID string `json:"asset_id"`
	Path    string `json:"path"`
	Leaves  bool   `json:"leaves"`
	Reason  string `json:"reason,omitempty"` // why it does not
}

// A Page is a "page" event: what became of one HTML page.
type Page struct {
	File      string `json:"file"`
	State     string `json:"state"`            // planned, written, refused
	Images    int    `json:"images"`           // that lacked an alternative text
	Described int    `json:"described"`        // of these
	Output    string `json:"output,omitempty"` // what was written
	Summary   string `json:"summary,omitempty"`
	Error     string `json:"error,omitempty"`
}
