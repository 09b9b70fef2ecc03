package command

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// Confirm asks a person a question. No answer is a no, and whoever interrupts it is not
// waited for.
func (f *Factory) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := f.AskLine(ctx, question+" [y/N] ")
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}

// AskLine asks a person for a line of text, and gives it without the space around it.
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
