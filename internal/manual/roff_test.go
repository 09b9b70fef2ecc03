package manual

import (
	"strings"
	"testing"
	"unicode"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// FuzzRoff verifies that any text stays text: no line of it is a request, and every escape is a
// known one.
func FuzzRoff(f *testing.F) {
	for _, seed := range []string{"", ".SH x", "'br", `\fB`, `a\`, "-n ~ ^ ` '", "“…” é \U0001F600", "a\nb\tc\x00", "\x01", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := roffLine(text)
		if line[0] == '.' || line[0] == '\'' {
			t.Errorf("%q is a request", line)
		}
		for _, r := range line {
			if r > unicode.MaxASCII || r < ' ' {
				t.Errorf("%q has %q", line, r)
			}
		}
		for rest := line; ; {
			i := strings.IndexByte(rest, '\\')
			if i < 0 {
				break
			}
			rest = rest[i+1:]
			known := false
			for _, escape := range []string{"e", "-", "&", "(aq", "(ga", "(ha", "(ti", "(dq", "[u"} {
				known = known || strings.HasPrefix(rest, escape)
			}
			if !known {
				t.Errorf("%q has an escape of its own", line)
			}
		}
	})
}
