package event

// A Model is a "model" event: a model of the AI content service. Unknown limits are omitted;
// sizes are in bytes.
type Model struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	Provider         string `json:"provider"`
	Description      string `json:"description,omitempty"`
	Allowed          bool   `json:"allowed"` // by the token
	Recommended      bool   `json:"recommended"`
	Removal          string `json:"removal,omitempty"` // date of its removal
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
	User      string   `json:"user,omitempty"` // "": all users
	Credits   float64  `json:"credits"`
	Allowance *float64 `json:"allowance,omitempty"` // if the service reports it
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

// An Answer is an "answer" event: an answer of the AI content service.
type Answer struct {
	Text    string   `json:"text"`
	Sources []string `json:"sources"` // URLs from the service
}

// A Suggestion is a "suggestion" event: an element that a review would change.
type Suggestion struct {
	Element string `json:"element"` // its data-id
	Text    string `json:"text"`    // new content, in HTML
}

// A Context is a "context" event: a context of the AI content service.
type Context struct {
	ID           string          `json:"id,omitempty"` // "" for a planned context
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	AppliesTo    []string        `json:"applies_to,omitempty"` // features with automatic use
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

// An Audit is an "audit" event: the number of descriptions with problems.
type Audit struct {
	Assets   int64            `json:"assets"`
	Images   int64            `json:"images"`   // of these
	Findings map[string]int64 `json:"findings"` // images by finding

	Languages map[string]int64 `json:"languages"` // images by language of the description, or unknown
}

// A Finding is a "finding" event: an image with a missing or poor description.
type Finding struct {
	AssetID     string   `json:"asset_id"`
	Path        string   `json:"path"`
	Findings    []string `json:"findings"`
	Description string   `json:"description"`
	Language    string   `json:"language,omitempty"` // of the description, if known
}

// An Enrichment is an "enrichment" event: the result for an asset.
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

// A Proposal is a "proposal" event: a proposal for an asset.
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
	Attribute      string   `json:"attribute,omitempty"` // custom attribute for the text
	Decorative     bool     `json:"decorative"`
	Requests       int      `json:"requests"` // billed
	Model          string   `json:"model,omitempty"`
	Note           string   `json:"note,omitempty"`
}

// A Decisions is a "decisions" event: the number of decisions on proposals.
type Decisions struct {
	Accepted   int64 `json:"accepted"`
	Rejected   int64 `json:"rejected"`
	Decorative int64 `json:"decorative"`
	Undecided  int64 `json:"undecided"`
	Obsolete   int64 `json:"obsolete"` // applied or deleted since the export
}

// An Estimate is an "estimate" event: the size and cost of a request to the AI content service.
type Estimate struct {
	Service  string           `json:"service"` // host
	Kind     string           `json:"kind"`
	Assets   int64            `json:"assets"`   // selected
	Requests int64            `json:"requests"` // billable
	Credits  *float64         `json:"credits,omitempty"`
	Seconds  Seconds          `json:"seconds"`
	Bytes    int64            `json:"bytes"`    // maximum, of images
	Excluded map[string]int64 `json:"excluded"` // assets by reason

	Contexts      []string `json:"contexts,omitempty"`
	OtherContexts int64    `json:"other_contexts,omitempty"` // already proposed, but with other contexts
}

// A Selection is a "selection" event: whether an asset would be sent to the AI content service.
type Selection struct {
	AssetID  string `json:"asset_id"`
	Path     string `json:"path"`
	Selected bool   `json:"selected"`
	Reason   string `json:"reason,omitempty"` // code of why it is excluded
}

// A Page is a "page" event: the result for an HTML page.
type Page struct {
	File      string `json:"file"`
	State     string `json:"state"`            // planned, written, refused
	Images    int    `json:"images"`           // without alternative text
	Described int    `json:"described"`        // of these
	Output    string `json:"output,omitempty"` // file that was written
	Summary   string `json:"summary,omitempty"`
	Error     string `json:"error,omitempty"`
}
