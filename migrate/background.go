package migrate

// Background runs one task at a time in another goroutine than its caller. The zero value is ready to use.
type Background struct {
	done chan error // receives the result of the task; nil if there is none
}

// Start waits for the last task, and starts the next one if that succeeded.
func (b *Background) Start(task func() error) error {
	if err := b.Wait(); err != nil {
		return err
	}
	done := make(chan error, 1)
	b.done = done
	go func() { done <- task() }()
	return nil
}

// Wait waits for the last task, and returns its error once.
func (b *Background) Wait() error {
	if b.done == nil {
		return nil
	}
	err := <-b.done
	b.done = nil
	return err
}
