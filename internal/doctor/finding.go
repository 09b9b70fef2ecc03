package doctor

import (
	"fmt"

	"assetferry/internal/event"
)

// The verdicts of a check, which are codes.
const (
	OK        = "ok"
	Warning   = "warning"
	Failed    = "failed"
	Unchecked = "not_checked"
)

// A Finding is the result of a check.
type Finding struct {
	Verdict, Message, Hint string
	Facts                  []event.Fact
	Details                []event.Fact // for JSON only; After has them for people
	After                  string       // text below the finding that can be pasted
	Auth                   bool         // an authentication error
}

func ok(format string, args ...any) Finding {
	return Finding{Verdict: OK, Message: fmt.Sprintf(format, args...)}
}

func warning(hint, format string, args ...any) Finding {
	return Finding{Verdict: Warning, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func failed(hint, format string, args ...any) Finding {
	return Finding{Verdict: Failed, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func unchecked(why string, args ...any) Finding {
	return Finding{Verdict: Unchecked, Message: fmt.Sprintf(why, args...)}
}

// broken returns a failure with the message of an error.
func (d *Doctor) broken(err error) Finding {
	hint, auth := d.Host.Explain(err)
	return Finding{Verdict: Failed, Message: err.Error(), Hint: hint, Auth: auth}
}

func (f Finding) with(facts ...event.Fact) Finding {
	f.Facts = append(f.Facts, facts...)
	return f
}
