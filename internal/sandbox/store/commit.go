package store

import "errors"

// ErrClosed is the answer to changes after Close.
var ErrClosed = errors.New("the sandbox is closed")

// maxTogether is the most changes in one transaction.
const maxTogether = 256

// A Change waits to be committed.
type change struct {
	do       func(*Session) error
	released []string // stored bytes that nothing needs after it
	done     chan error
}

func (c *change) run(s *Session) (err error) {
	if err := c.do(s); err != nil {
		return err
	}
	c.released, err = takeReleased(s)
	return err
}

// Write makes a change and returns when it is durable and the bytes that nothing
// needs after it are gone. It may be run twice, if the first transaction was
// undone; so it must do nothing that cannot be.
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

// commitAll commits changes until the store is closed: all that wait, together,
// so that they share the cost of getting to the disk.
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

// gather takes the changes that wait already.
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

// commit makes changes in one transaction. If one fails, each gets its own, so
// that none suffers from another.
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
