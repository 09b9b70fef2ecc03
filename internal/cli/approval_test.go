package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/pem"
	"flag"
	"fmt"
	"os"

	"github.com/hiddeco/sshsig"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"

	"assetferry/internal/approvers"
)

// approverKey returns the key for a name. It is the same in all tests.
func approverKey(name string) (ed25519.PrivateKey, ssh.Signer, error) {
	seed := sha256.Sum256([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:])
	signer, err := ssh.NewSignerFromKey(key)
	return key, signer, err
}

// cmdApprover adds a line with the key of a name to a file of approvers, and writes that key to
// NAME.key, for ssh-keygen:
//
//	approver FILE NAME [PRINCIPALS [OPTIONS]]
func cmdApprover(ts *testscript.TestScript, _ bool, args []string) {
	key, signer, err := approverKey(args[1])
	ts.Check(err)
	private, err := ssh.MarshalPrivateKey(key, "")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]+".key"), pem.EncodeToMemory(private), 0o600))
	line := args[1] + "@example.com"
	for n, more := range args[2:] {
		if n == 0 {
			line = more
		} else {
			line += " " + more
		}
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = fmt.Fprintf(f, "%s %s", line, ssh.MarshalAuthorizedKey(signer.PublicKey()))
	ts.Check(err)
	ts.Check(f.Close())
}

// cmdSign signs a file with the key of a name, as ssh-keygen -Y sign does:
//
//	sign [-n NAMESPACE] NAME FILE
func cmdSign(ts *testscript.TestScript, _ bool, args []string) {
	f := flag.NewFlagSet("sign", flag.ContinueOnError)
	namespace := f.String("n", approvers.Namespace, "")
	ts.Check(f.Parse(args))
	_, signer, err := approverKey(f.Arg(0))
	ts.Check(err)
	signature, err := sshsig.Sign(bytes.NewReader([]byte(ts.ReadFile(f.Arg(1)))), signer, sshsig.HashSHA512, *namespace)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(f.Arg(1)+".sig"), sshsig.Armor(signature), 0o644))
}

// cmdExpand replaces variables in a file by their values: expand FILE
func cmdExpand(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}
