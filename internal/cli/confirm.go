package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// confirm asks a person a question. No answer is a no, and whoever interrupts it is not
// waited for.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	answer, err := a.askLine(ctx, question+" [y/N] ")
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}

// askLine asks a person for a line of text, and gives it without the space around it.
func (a *app) askLine(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.stderr, question)
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answered <- strings.TrimSpace(answer)
	}()
	select {
	case answer := <-answered:
		return answer, nil
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return "", context.Cause(ctx)
	}
}
