// Package approvers reads the list of approvers of a destination and verifies their signatures.
//
// The list is an OpenSSH file, allowed_signers. Approvers sign with "ssh-keygen -Y sign". An approver
// is one person with one or more plain names. Other features of ssh-keygen are refused with their line,
// never ignored: patterns, certificate authorities and unknown options.
//
// The account whose commands need approval must not be able to change the file: see OutOfReach.
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

// Namespace is the namespace of approvals (ssh-keygen -n). A signature for another purpose, such as a
// commit, is no approval.
const Namespace = "assetferry-approval"

// A List is a list of approvers.
type List struct{ entries []entry }

// An entry is a line of the file.
type entry struct {
	names         []string
	namespaces    []string // empty: all
	after, before time.Time
	key           ssh.PublicKey
}

// A Signer is the approver who signed a message.
type Signer struct {
	Names       []string // all names of the key in the file; the first is used
	Fingerprint string   // of the key, in the form of ssh-keygen -l
}

// Defects of a signature.
var (
	ErrNoSignature = errors.New("it is not a signature of ssh-keygen -Y sign")
	ErrNamespace   = errors.New("it was signed for another purpose")
	ErrUnknownKey  = errors.New("its key belongs to no approver")
	ErrSignature   = errors.New("it is not a signature of this request")
	ErrNotAllowed  = errors.New("its key may not approve")
)

// Len returns the number of keys in the list.
func (l *List) Len() int { return len(l.entries) }

// Verify returns the approver who signed a message and may approve at the time now.
func (l *List) Verify(message, armored []byte, now time.Time) (Signer, error) {
	signature, err := sshsig.Unarmor(armored)
	if err != nil {
		return Signer{}, fmt.Errorf("%w: %w", ErrNoSignature, err)
	}
	if signature.Namespace != Namespace {
		return Signer{}, fmt.Errorf("%w: its namespace is %q, not %q", ErrNamespace, signature.Namespace, Namespace)
	}
	signer, known, err := l.find(signature.PublicKey)
	if err != nil {
		return Signer{}, err
	}
	if err := sshsig.Verify(bytes.NewReader(message), signature, known[0].key, signature.HashAlgorithm, Namespace); err != nil {
		return Signer{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return signer.named(known, Namespace, now)
}

// CertificateNamespace is the namespace of signers of certificates: the lines of a file can allow a
// key to sign certificates and not to approve.
const CertificateNamespace = "assetferry-certificate"

// Holder returns the person who has a key and may sign certificates at the time now.
func (l *List) Holder(key ssh.PublicKey, now time.Time) (Signer, error) {
	signer, known, err := l.find(key)
	if err != nil {
		return Signer{}, err
	}
	return signer.named(known, CertificateNamespace, now)
}

// find returns the lines of a key.
func (l *List) find(key ssh.PublicKey) (s Signer, known []entry, err error) {
	s.Fingerprint = ssh.FingerprintSHA256(key)
	for _, e := range l.entries {
		if bytes.Equal(e.key.Marshal(), key.Marshal()) {
			known = append(known, e)
		}
	}
	if len(known) == 0 {
		return s, nil, fmt.Errorf("%w: %s", ErrUnknownKey, s.Fingerprint)
	}
	return s, known, nil
}

// named adds the names in the lines of the key. One line must allow the key for the
// namespace; its names come first. The other lines have further names of the same person.
func (s Signer) named(known []entry, namespace string, now time.Time) (Signer, error) {
	allowed := slices.IndexFunc(known, func(e entry) bool { return e.refuses(namespace, now) == nil })
	if allowed < 0 {
		return Signer{}, fmt.Errorf("%w: %s: %w", ErrNotAllowed, s.Fingerprint, known[0].refuses(namespace, now))
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

// refuses returns the reason why the key may not sign for a namespace at a time, or nil if it may.
func (e entry) refuses(namespace string, now time.Time) error {
	switch {
	case len(e.namespaces) > 0 && !slices.Contains(e.namespaces, namespace):
		return fmt.Errorf("its namespaces do not include %q", namespace)
	case !e.after.IsZero() && now.Before(e.after):
		return fmt.Errorf("it is not valid before %s", e.after.UTC().Format(time.RFC3339))
	case !e.before.IsZero() && now.After(e.before):
		return fmt.Errorf("it has not been valid since %s", e.before.UTC().Format(time.RFC3339))
	}
	return nil
}
