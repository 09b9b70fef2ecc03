package approvers

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"encoding/pem"

	"github.com/hiddeco/sshsig"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// signer returns the key of a name, always the same one.
func signer(tb testing.TB, name string) (ssh.Signer, ed25519.PrivateKey) {
	tb.Helper()
	seed := sha256.Sum256([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:])
	s, err := ssh.NewSignerFromKey(key)
	must(tb, err)
	return s, key
}

// line returns the content of a .pub file without a comment.
func line(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func keyLine(tb testing.TB, name string) string {
	tb.Helper()
	s, _ := signer(tb, name)
	return line(s.PublicKey())
}

func sign(tb testing.TB, s ssh.Signer, message, namespace string) []byte {
	tb.Helper()
	signature, err := sshsig.Sign(strings.NewReader(message), s, sshsig.HashSHA512, namespace)
	must(tb, err)
	return sshsig.Armor(signature)
}

// Features of ssh-keygen other than plain names are refused with their line. Nothing is ignored.
func TestParse(t *testing.T) {
	ada := keyLine(t, "ada")
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	must(t, err)
	small, err := ssh.NewPublicKey(&weak.PublicKey)
	must(t, err)
	ca, _ := signer(t, "ca")
	of, _ := signer(t, "ada")
	certificate := &ssh.Certificate{Key: of.PublicKey(), CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
	must(t, certificate.SignCert(rand.Reader, ca))
	for _, c := range []struct{ name, text, want string }{
		{"plain", "ada@example.com " + ada, ""},
		{"several names", "ada,ada@example.com " + ada, ""},
		{"comment and blank lines", "# approvers\n\n  ada " + ada + " her laptop\r\n", ""},
		{"tabs", "ada\t" + strings.ReplaceAll(ada, " ", "\t"), ""},
		{"options", `ada namespaces="git,assetferry-approval",valid-after="20250101",valid-before="202601011200Z" ` + ada, ""},
		{"an option in capitals", `ada NameSpaces="git" ` + ada, ""},
		{"nothing", "", "f: the file lists no approver"},
		{"comments only", "# none\n", "f: the file lists no approver"},
		{"a pattern", "*@example.com " + ada, `line 1: "*@example.com" is not the name of one approver`},
		{"a pattern of one letter", "ad? " + ada, "is not the name of one approver"},
		{"a name that is excluded", "ada,!bob " + ada, `"!bob" is not the name`},
		{"a name in quotes", `"ada" ` + ada, "is not the name of one approver"},
		{"an empty name", "ada,,bob " + ada, "a name is empty"},
		{"no name", ada, "the key is missing|is neither a known option"},
		{"an authority", "*@example.com cert-authority " + ada, "is not the name of one approver"},
		{"an authority for a name", "ada cert-authority " + ada, "option cert-authority is not accepted"},
		{"an authority among options", `ada namespaces="git",CERT-AUTHORITY ` + ada, "option cert-authority is not accepted"},
		{"an unknown option", "ada no-touch-required " + ada, `"no-touch-required" is neither a known option`},
		{"an option twice", `ada namespaces="git",namespaces="assetferry-approval" ` + ada, "option namespaces occurs twice"},
		{"an option without quotes", "ada namespaces=git " + ada, "needs a value in quotes"},
		{"an option without a value", "ada namespaces " + ada, "needs a value in quotes"},
		{"a namespace that is a pattern", `ada namespaces="*" ` + ada, "patterns are not accepted"},
		{"no time", `ada valid-after="soon" ` + ada, `"soon" is not a time`},
		{"half a time", `ada valid-before="2026013" ` + ada, `is not a time`},
		{"a day that is none", `ada valid-before="20260231" ` + ada, `is not a time`},
		{"valid never", `ada valid-after="20260101",valid-before="20250101" ` + ada, "valid-after must be earlier than valid-before"},
		{"a quote that is open", `ada namespaces="git ` + ada, "needs a value in quotes|the key is missing"},
		{"no key", "ada", "is neither a known option|the key is missing"},
		{"a type without a key", "ada ssh-ed25519", "the key is missing"},
		{"bad base64", "ada ssh-ed25519 AAAA!", "the key is not base64"},
		{"half a key", ada[:40], "the key is missing|is neither|base64"},
		{"half a key of a name", "ada " + ada[:40], "the key cannot be read|base64"},
		{"another type", "ada " + strings.Replace(ada, "ssh-ed25519", "ssh-rsa", 1), "the key has the type ssh-ed25519, not ssh-rsa"},
		{"a certificate", "ada " + line(certificate), "the key is a certificate"},
		{"a short RSA key", "ada " + line(small), "the RSA key has 1024 bits, at least 2048 are required"},
		{"text that is not seen", "a\u202eda " + ada, "invisible characters"},
		{"bytes that are no text", "a\xff " + ada, "invisible characters"},
		{"the second line", "ada " + ada + "\nbob", "f, line 2: "},
		{"too much", strings.Repeat("#\n", maxBytes), "is larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := Parse("f", []byte(c.text))
			if c.want == "" {
				if err != nil || len(list.entries) != 1 || list.entries[0].names[0] != "ada" && list.entries[0].names[0] != "ada@example.com" {
					t.Errorf("got %+v, %v", list, err)
				}
				return
			}
			if err == nil || !slices.ContainsFunc(strings.Split(c.want, "|"), func(w string) bool { return strings.Contains(err.Error(), w) }) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	const message = "carry it out"
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ada, _ := signer(t, "ada")
	eve, _ := signer(t, "eve")
	strong, err := rsa.GenerateKey(rand.Reader, minRSA)
	must(t, err)
	rsaSigner, err := ssh.NewSignerFromKey(strong)
	must(t, err)
	key := line(ada.PublicKey())
	good := sign(t, ada, message, Namespace)
	for _, c := range []struct {
		name, file string
		signature  []byte
		want       error
		names      string
	}{
		{"good", "ada@example.com " + key, good, nil, "ada@example.com"},
		{"RSA", "rsa " + line(rsaSigner.PublicKey()), sign(t, rsaSigner, message, Namespace), nil, "rsa"},
		{"all names of the key", "ada,a@example.com " + key + "\nbob " + keyLine(t, "bob") + "\nada,op " + key, good, nil, "ada a@example.com op"},
		{"the line that allows it comes first", `old valid-before="20250101" ` + key + "\nada " + key, good, nil, "ada old"},
		{"its namespace", `ada namespaces="git,assetferry-approval" ` + key, good, nil, "ada"},
		{"its time", `ada valid-after="20260501Z",valid-before="20260502Z" ` + key, good, nil, "ada"},
		{"no signature", "ada " + key, []byte("yes"), ErrNoSignature, ""},
		{"half a signature", "ada " + key, good[:len(good)/2], ErrNoSignature, ""},
		{"a key instead", "ada " + key, []byte(key), ErrNoSignature, ""},
		{"another namespace", "ada " + key, sign(t, ada, message, "git"), ErrNamespace, ""},
		{"another message", "ada " + key, sign(t, ada, message+".", Namespace), ErrSignature, ""},
		{"another key", "ada " + key, sign(t, eve, message, Namespace), ErrUnknownKey, ""},
		{"a namespace that is not allowed", `ada namespaces="git" ` + key, good, ErrNotAllowed, ""},
		{"too early", `ada valid-after="202605011201Z" ` + key, good, ErrNotAllowed, ""},
		{"too late", `ada valid-before="202605011159Z" ` + key, good, ErrNotAllowed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := Parse("f", []byte(c.file))
			must(t, err)
			by, err := list.Verify([]byte(message), c.signature, now)
			if !errors.Is(err, c.want) || strings.Join(by.Names, " ") != c.names {
				t.Errorf("got %v, %v, want %s, %v", by.Names, err, c.names, c.want)
			}
			if err == nil && !strings.HasPrefix(by.Fingerprint, "SHA256:") {
				t.Errorf("fingerprint %q", by.Fingerprint)
			}
		})
	}
}

// ssh-keygen signs with SHA-512, also for RSA, and refuses signatures with SHA-1.
func TestVerifySHA1(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, minRSA)
	must(t, err)
	s, err := ssh.NewSignerFromKey(key)
	must(t, err)
	list, err := Parse("f", []byte("ada "+line(s.PublicKey())))
	must(t, err)
	if _, err := list.Verify([]byte("m"), sign(t, sha1Signer{s.(ssh.AlgorithmSigner)}, "m", Namespace), time.Now()); !errors.Is(err, ErrNoSignature) {
		t.Errorf("got %v", err)
	}
}

// sha1Signer always signs with SHA-1.
type sha1Signer struct{ ssh.AlgorithmSigner }

func (s sha1Signer) SignWithAlgorithm(random io.Reader, data []byte, _ string) (*ssh.Signature, error) {
	return s.AlgorithmSigner.SignWithAlgorithm(random, data, ssh.KeyAlgoRSA)
}

func (s sha1Signer) Sign(random io.Reader, data []byte) (*ssh.Signature, error) {
	return s.SignWithAlgorithm(random, data, "")
}

// A certificate is not the key of an approver, even if its authority is listed.
func TestVerifyCertificate(t *testing.T) {
	ada, _ := signer(t, "ada")
	ca, _ := signer(t, "ca")
	certificate := &ssh.Certificate{Key: ada.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: []string{"ada"}, ValidBefore: ssh.CertTimeInfinity}
	must(t, certificate.SignCert(rand.Reader, ca))
	certified, err := ssh.NewCertSigner(certificate, ada)
	must(t, err)
	list, err := Parse("f", []byte("ada "+line(ada.PublicKey())+"\nca "+line(ca.PublicKey())))
	must(t, err)
	if _, err := list.Verify([]byte("m"), sign(t, certified, "m", Namespace), time.Now()); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("got %v", err)
	}
}

// If ssh-keygen is installed, its signatures are accepted, and it accepts the signatures of the tests.
func TestKeygen(t *testing.T) {
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Log("ssh-keygen is not installed: only signatures made here are verified")
		return
	}
	dir := t.TempDir()
	s, key := signer(t, "ada")
	private, err := ssh.MarshalPrivateKey(key, "")
	must(t, err)
	keyFile, message := filepath.Join(dir, "key"), filepath.Join(dir, "message")
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(private), 0o600))
	must(t, os.WriteFile(message, []byte("carry it out"), 0o600))
	if out, err := exec.Command(program, "-q", "-Y", "sign", "-n", Namespace, "-f", keyFile, message).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	signature, err := os.ReadFile(message + ".sig")
	must(t, err)
	list, err := Parse("f", []byte("ada "+line(s.PublicKey())))
	must(t, err)
	if by, err := list.Verify([]byte("carry it out"), signature, time.Now()); err != nil || by.Names[0] != "ada" {
		t.Errorf("got %+v, %v", by, err)
	}
	out, err := exec.Command(program, "-l", "-f", keyFile).Output()
	must(t, err)
	if by, _ := list.Verify([]byte("carry it out"), signature, time.Now()); !bytes.Contains(out, []byte(by.Fingerprint)) {
		t.Errorf("fingerprint %s, ssh-keygen shows %s", by.Fingerprint, out)
	}
}

// Every accepted list of approvers has plain names and valid keys only.
func FuzzParse(f *testing.F) {
	ada := keyLine(f, "ada")
	f.Add([]byte("ada@example.com " + ada))
	f.Add([]byte(`ada namespaces="git,assetferry-approval",valid-after="20250101",valid-before="202601011200Z" ` + ada + " comment\n# more\n"))
	f.Add([]byte("*@example.com cert-authority " + ada))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Parse("f", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f") {
				t.Errorf("%v names no file", err)
			}
			return
		}
		for _, e := range list.entries {
			if len(e.names) == 0 || e.key == nil || slices.ContainsFunc(e.names, func(n string) bool { return n == "" || strings.ContainsAny(n, "*?!\" \t,") }) {
				t.Errorf("%+v", e)
			}
			again, err := Parse("f", []byte(strings.Join(e.names, ",")+" "+line(e.key)))
			if err != nil || !bytes.Equal(again.entries[0].key.Marshal(), e.key.Marshal()) {
				t.Errorf("%v: read again: %v", e.names, err)
			}
		}
	})
}

// Only a signature of the message is accepted.
func FuzzVerify(f *testing.F) {
	ada, _ := signer(f, "ada")
	good := sign(f, ada, "m", Namespace)
	f.Add(good)
	f.Add(good[:len(good)-20])
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\n\n-----END SSH SIGNATURE-----\n"))
	list, err := Parse("f", []byte("ada "+line(ada.PublicKey())))
	must(f, err)
	f.Fuzz(func(t *testing.T, armored []byte) {
		if by, err := list.Verify([]byte("other"), armored, time.Now()); err == nil {
			t.Errorf("%+v signed it", by)
		}
	})
}
