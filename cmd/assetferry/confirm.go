package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// confirm asks a person a question. No answer is a no, and whoever interrupts it is not
// waited for.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.stderr, question+" [y/N] ")
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answered <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case answer := <-answered:
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return false, context.Cause(ctx)
	}
}
