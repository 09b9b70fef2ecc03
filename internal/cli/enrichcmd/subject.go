package enrichcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"assetferry/internal/approval"
	"assetferry/internal/cli/command"
	"assetferry/state"
	"assetferry/state/enrichment"
)

// proposalsSubject returns enrich apply for an approval: the command, and a hash of the proposals
// to write. The function returns the hash once it is known.
func proposalsSubject(f *command.Factory) (s command.Subject, approved func() string) {
	s, content := f.CommandSubject(), ""
	name := s
	s.Prepare = func(ctx context.Context, dest *command.Destination) (err error) {
		content, err = acceptedProposals(ctx, f, dest)
		return err
	}
	s.Fill = func(r *approval.Request) error {
		r.Content = content
		return name.Fill(r)
	}
	s.Covers = func(r approval.Request) ([]string, error) {
		if differs, err := name.Covers(r); len(differs) > 0 || err != nil {
			return differs, err
		}
		if r.Content != content {
			return []string{"the accepted proposals have changed"}, nil
		}
		return nil, nil
	}
	return s, func() string { return content }
}

// acceptedProposals returns a hash of the proposals that enrich apply would write.
func acceptedProposals(ctx context.Context, f *command.Factory, dest *command.Destination) (string, error) {
	path, err := f.StatePathOf(dest)
	if err != nil {
		return "", err
	}
	if err := command.MustExist(path); err != nil {
		return "", err
	}
	store, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return "", err
	}
	defer store.Close()
	return proposalsHash(ctx, store, dest)
}

// sameProposals checks that the proposals are still the approved ones. From now on no other
// process can change them, because the state database is open for writing.
func (e *enrichSession) sameProposals(ctx context.Context, approved string) error {
	if approved == "" {
		return nil
	}
	if now, err := proposalsHash(ctx, e.store, e.dest); err != nil || now != approved {
		return errors.Join(errors.New("the accepted proposals changed during the start; nothing was sent"), err)
	}
	return nil
}

func proposalsHash(ctx context.Context, store *state.Store, dest *command.Destination) (string, error) {
	hash := sha256.New()
	lines := json.NewEncoder(hash)
	for e, err := range enrichment.In(store).Enrichments(ctx, dest.Identity(), enrichment.Filter{States: []enrichment.State{enrichment.Accepted}}) {
		if err != nil {
			return "", err
		}
		if err := lines.Encode([]any{e.Enrichment.Asset, e.Enrichment.Kind, e.Enrichment.Language, e.Enrichment.Basis.Attribute, e.Enrichment.Proposal}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
