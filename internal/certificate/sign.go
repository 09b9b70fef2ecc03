package certificate

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
)

// Errors of private keys.
var (
	ErrPassphrase = errors.New("the key needs its passphrase")
	ErrKey        = errors.New("it is not an Ed25519 key")
)

// ParseKey reads a private key in the form of ssh-keygen or of PKCS #8. Without a passphrase, an
// encrypted key is ErrPassphrase.
func ParseKey(text, passphrase []byte) (ed25519.PrivateKey, error) {
	var key any
	var err error
	if passphrase == nil {
		key, err = ssh.ParseRawPrivateKey(text)
	} else {
		key, err = ssh.ParseRawPrivateKeyWithPassphrase(text, passphrase)
	}
	if _, missing := errors.AsType[*ssh.PassphraseMissingError](err); missing {
		return nil, ErrPassphrase
	} else if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return key, nil
	case *ed25519.PrivateKey:
		return *key, nil
	}
	return nil, ErrKey
}

// SignerOf describes a key.
func SignerOf(key ed25519.PublicKey) (s Signer, err error) {
	of, err := ssh.NewPublicKey(key)
	if err != nil {
		return s, err
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return s, err
	}
	return Signer{
		Fingerprint: ssh.FingerprintSHA256(of), SSHKey: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(of))),
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
	}, nil
}

// Sign returns the file of a certificate. It fills in the signer, the type and the version.
func Sign(ctx context.Context, c Certificate, key ed25519.PrivateKey) (file []byte, err error) {
	c.Type, c.Version, c.CreatedAt = kind, version, c.CreatedAt.UTC().Truncate(time.Millisecond)
	pair := keyPair{public: key.Public().(ed25519.PublicKey), private: key}
	if c.Signer, err = SignerOf(pair.public); err != nil {
		return nil, err
	}
	pair.id = c.Signer.Fingerprint
	payload, err := encode(c)
	if err != nil {
		return nil, err
	}
	signer, err := dsse.NewEnvelopeSigner(pair)
	if err != nil {
		return nil, err
	}
	envelope, err := signer.SignPayload(ctx, PayloadType, payload)
	if err != nil {
		return nil, err
	}
	file, err = encode(envelope)
	return append(file, '\n'), err
}

// Open verifies the file of a certificate with the key that it names, and returns its content.
// Whether that key is trusted is for the caller to decide.
func Open(ctx context.Context, file []byte) (c Certificate, err error) {
	text, whole := bytes.CutSuffix(file, []byte("\n"))
	if !whole {
		return c, fmt.Errorf("%w: it is not complete", ErrChanged)
	}
	envelope, err := decode[dsse.Envelope](text)
	if err != nil {
		return c, err
	}
	if envelope.PayloadType != PayloadType || len(envelope.Signatures) != 1 {
		return c, fmt.Errorf("%w: it is not a certificate with one signature", ErrChanged)
	}
	payload, err := envelope.DecodeB64Payload()
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if c, err = decode[Certificate](payload); err != nil {
		return c, err
	}
	if c.Type != kind || c.Version != version {
		return c, fmt.Errorf("%w: version %d is unknown", ErrChanged, c.Version)
	}
	return c, verify(ctx, c, envelope, payload)
}

// verify verifies the signature. The envelope is not covered by it, so it is compared as a whole
// with the only form that the payload and the signature have.
func verify(ctx context.Context, c Certificate, envelope dsse.Envelope, payload []byte) error {
	public, err := c.Signer.key()
	if err != nil {
		return err
	}
	pair := keyPair{id: c.Signer.Fingerprint, public: public}
	verifier, err := dsse.NewEnvelopeVerifier(pair)
	if err != nil {
		return err
	}
	if _, err := verifier.Verify(ctx, &envelope); err != nil {
		return fmt.Errorf("%w: its signature is wrong", ErrChanged)
	}
	if envelope.Signatures[0].KeyID != pair.id || !isCanonical(envelope.Payload, payload) || !isCanonical(envelope.Signatures[0].Sig, nil) {
		return fmt.Errorf("%w: its envelope has another spelling", ErrChanged)
	}
	return nil
}

// key returns the key of a signer, whose forms must agree.
func (s Signer) key() (ed25519.PublicKey, error) {
	block, _ := pem.Decode([]byte(s.PEM))
	if block == nil {
		return nil, fmt.Errorf("%w: it has no public key", ErrChanged)
	}
	found, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	key, ok := found.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: %w", ErrChanged, ErrKey)
	}
	again, err := SignerOf(key)
	if err == nil && again != s {
		err = fmt.Errorf("%w: its public keys differ", ErrChanged)
	}
	return key, err
}

// A keyPair signs and verifies.
type keyPair struct {
	id      string
	public  ed25519.PublicKey
	private ed25519.PrivateKey
}

// Sign implements dsse.Signer.
func (k keyPair) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(k.private, data), nil
}

// Verify implements dsse.Verifier.
func (k keyPair) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(k.public, data, sig) {
		return errors.New("wrong signature")
	}
	return nil
}

// KeyID implements dsse.Signer and dsse.Verifier.
func (k keyPair) KeyID() (string, error) { return k.id, nil }

// Public implements dsse.Verifier.
func (k keyPair) Public() crypto.PublicKey { return k.public }
