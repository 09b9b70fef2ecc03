package command

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// Confirm asks a question. No answer means no, and an interrupt ends the wait.
func (f *Factory) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := f.AskLine(ctx, question+" [y/N] ")
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}

// AskLine asks for a line of text, and returns it without the space around it.
func (f *Factory) AskLine(ctx context.Context, question string) (string, error) {
	fmt.Fprint(f.Stderr, question)
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(f.Stdin).ReadString('\n')
		answered <- strings.TrimSpace(answer)
	}()
	select {
	case answer := <-answered:
		return answer, nil
	case <-ctx.Done():
		fmt.Fprintln(f.Stderr)
		return "", context.Cause(ctx)
	}
}
