package plan

import "context"

// placing has all that is to be created find its place at the destination, and what it may share
// instead. What cannot be shared after all takes a place like all else.
type placing struct {
	contacts   *contacts
	collisions *collisions
	names      *foreignNames
	joining    *joining
}

func (p *placing) do(ctx context.Context) error {
	for again := true; again; {
		for _, do := range []func(context.Context) error{p.contacts.do, p.collisions.do, p.names.do, p.joining.do} {
			if err := do(ctx); err != nil {
				return err
			}
		}
		var err error
		if again, err = p.joining.confirmOwners(ctx); err != nil {
			return err
		}
	}
	return nil
}
