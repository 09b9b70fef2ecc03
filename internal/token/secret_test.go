package token_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"assetferry/internal/token"
)

const seed = "s3cr3t-value"

func TestSecretNeverPrints(t *testing.T) {
	s := token.NewSecret(seed)
	holder := struct {
		Public  token.Secret
		private token.Secret
		pointer *token.Secret
		any     any
	}{s, s, &s, s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%40s", "%p", "%t"} {
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", &s)
		fmt.Fprintf(&out, verb+"\n", holder)
		fmt.Fprintf(&out, verb+"\n", []token.Secret{s})
		fmt.Fprintf(&out, verb+"\n", map[string]token.Secret{"a": s})
	}
	fmt.Fprintln(&out, s, s.String(), s.GoString(), fmt.Errorf("x: %v", s))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "s", s, "h", holder, "p", &s)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", s, "h", holder, "p", &s)
	for _, v := range []any{s, &s, holder, map[token.Secret]int{s: 1}} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Errorf("marshal %T: %v", v, err)
		}
		out.Write(data)
	}
	hex := fmt.Sprintf("%x", seed)
	for _, bad := range []string{seed, hex, strings.ToUpper(hex)} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%s got out:\n%s", bad, out.String())
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Error("nothing says [redacted]")
	}
	if got := s.Reveal(); got != seed {
		t.Errorf("Reveal: got %q, want %q", got, seed)
	}
}

func TestSecretZero(t *testing.T) {
	var s token.Secret
	if s.Reveal() != "" || !s.IsEmpty() || fmt.Sprint(s) != "[redacted]" {
		t.Errorf("got %q, %v, %v", s.Reveal(), s.IsEmpty(), s)
	}
}
