package store

import "errors"

// ErrClosed is the error of changes after Close.
var ErrClosed = errors.New("the sandbox is closed")

// maxTogether is the maximum number of changes in one transaction.
const maxTogether = 256

// A change waits for its commit.
type change struct {
	do       func(*Session) error
	released []string // stored bytes that it made unused
	done     chan error
}

func (c *change) run(s *Session) (err error) {
	if err := c.do(s); err != nil {
		return err
	}
	c.released, err = takeReleased(s)
	return err
}

// Write makes a change. It returns when the change is durable and the bytes that it made unused are
// deleted. It may call do twice, if the first transaction was rolled back, so do must have no other
// effects.
func (st *Store) Write(do func(*Session) error) error {
	c := &change{do: do, done: make(chan error, 1)}
	select {
	case st.queue <- c:
		err := <-c.done
		if err == nil {
			st.Forget(c.released)
		}
		return err
	case <-st.stopped:
		return ErrClosed
	}
}

// commitAll commits changes until the store is closed. All waiting changes are committed together,
// so that they share the cost of writing to the disk.
func (st *Store) commitAll() {
	defer close(st.ended)
	for {
		select {
		case <-st.stopped:
			return
		case c := <-st.queue:
			st.commit(st.gather(c))
		}
	}
}

// gather returns the changes that are already waiting.
func (st *Store) gather(first *change) []*change {
	together := []*change{first}
	for len(together) < maxTogether {
		select {
		case c := <-st.queue:
			together = append(together, c)
		default:
			return together
		}
	}
	return together
}

// commit makes changes in one transaction. If one fails, each gets its own transaction, so that the
// others succeed.
func (st *Store) commit(together []*change) {
	s := <-st.writing
	defer func() { st.writing <- s }()
	err := s.exclusively(func() error {
		for _, c := range together {
			if err := c.run(s); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range together {
		if err != nil && len(together) > 1 {
			c.done <- s.exclusively(func() error { return c.run(s) })
			continue
		}
		c.done <- err
	}
}
