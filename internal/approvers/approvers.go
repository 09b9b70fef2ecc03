// Package approvers knows who may approve what is done at a destination, and verifies what
// they signed.
//
// Approvers are listed in a file of OpenSSH, allowed_signers, and sign with "ssh-keygen -Y
// sign". An approver is one person under one or more plain names, so what ssh-keygen allows
// beyond that is refused with its line, never ignored: patterns, certificate authorities and
// options that this package does not know.
//
// The file is only worth something if the account that is to be held back cannot change it:
// see OutOfReach.
package approvers

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Namespace is what approvals are signed for (ssh-keygen -n). A signature that was made for
// anything else, such as a commit, is no approval.
const Namespace = "assetferry-approval"

// A List is who may approve.
type List struct{ entries []entry }

// An entry is a line of the file.
type entry struct {
	names         []string
	namespaces    []string // empty: all
	after, before time.Time
	key           ssh.PublicKey
}

// A Signer is who signed something.
type Signer struct {
	Names       []string // all that the file has for the key; the first is used
	Fingerprint string   // of the key, as ssh-keygen -l shows it
}

// What may be wrong with a signature.
var (
	ErrNoSignature = errors.New("it is not a signature of ssh-keygen -Y sign")
	ErrNamespace   = errors.New("it was signed for something else")
	ErrUnknownKey  = errors.New("its key belongs to no approver")
	ErrSignature   = errors.New("it is not the signature of this request")
	ErrNotAllowed  = errors.New("its key may not approve")
)

// Len is how many lines with a key the list has.
func (l *List) Len() int { return len(l.entries) }

// Verify gives the approver who signed a message at most now.
func (l *List) Verify(message, armored []byte, now time.Time) (Signer, error) {
	signature, err := sshsig.Unarmor(armored)
	if err != nil {
		return Signer{}, fmt.Errorf("%w: %w", ErrNoSignature, err)
	}
	if signature.Namespace != Namespace {
		return Signer{}, fmt.Errorf("%w: its namespace is %q, not %q", ErrNamespace, signature.Namespace, Namespace)
	}
	signer := Signer{Fingerprint: ssh.FingerprintSHA256(signature.PublicKey)}
	var known []entry
	for _, e := range l.entries {
		if bytes.Equal(e.key.Marshal(), signature.PublicKey.Marshal()) {
			known = append(known, e)
		}
	}
	if len(known) == 0 {
		return Signer{}, fmt.Errorf("%w: %s", ErrUnknownKey, signer.Fingerprint)
	}
	if err := sshsig.Verify(bytes.NewReader(message), signature, known[0].key, signature.HashAlgorithm, Namespace); err != nil {
		return Signer{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return signer.named(known, now)
}

// named names a signer by the lines of the key. One of them must allow it to approve, and
// comes first; the others are names of the same person all the same.
func (s Signer) named(known []entry, now time.Time) (Signer, error) {
	allowed := slices.IndexFunc(known, func(e entry) bool { return e.refuses(now) == nil })
	if allowed < 0 {
		return Signer{}, fmt.Errorf("%w: %s: %w", ErrNotAllowed, s.Fingerprint, known[0].refuses(now))
	}
	s.Names = slices.Clone(known[allowed].names)
	for _, e := range known {
		for _, name := range e.names {
			if !slices.Contains(s.Names, name) {
				s.Names = append(s.Names, name)
			}
		}
	}
	return s, nil
}

// refuses is why the line does not allow its key to approve at a time, nil if it does.
func (e entry) refuses(now time.Time) error {
	switch {
	case len(e.namespaces) > 0 && !slices.Contains(e.namespaces, Namespace):
		return fmt.Errorf("its namespaces do not have %q", Namespace)
	case !e.after.IsZero() && now.Before(e.after):
		return fmt.Errorf("it is valid after %s", e.after.UTC().Format(time.RFC3339))
	case !e.before.IsZero() && now.After(e.before):
		return fmt.Errorf("it was valid before %s", e.before.UTC().Format(time.RFC3339))
	}
	return nil
}
