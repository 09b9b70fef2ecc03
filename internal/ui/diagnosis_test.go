package ui

import (
	"testing"

	"assetferry/internal/event"
)

func TestDiagnosis(t *testing.T) {
	got := Diagnosis(event.Check{
		Check: "ai_service", Result: "not_checked",
		Message: "the quick brown fox jumps over the lazy dog, and over another one,\n  2 | and \x1b[31m over a third\n      ^",
		Hint:    "https://a-very-long-word-that-does-not-fit-into-any-line-whatever-you-do-with-it.example",
		Facts:   []event.Fact{{Name: "to", Value: "production", From: "--to"}, {Name: "Überraschung"}},
	})
	want := `not checked  AI service: the quick brown fox jumps over the lazy dog, and over
             another one,
               2 | and \x1b[31m over a third
                   ^
             Try:
             https://a-very-long-word-that-does-not-fit-into-any-line-whatever-you-do-with-it.example
               to            production (--to)
               Überraschung
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDiagnosisCommand(t *testing.T) {
	got := Diagnosis(event.Check{Check: "ai_service", Result: "failed", Message: "not found", Hint: "list the models:\n  assetferry ai models"})
	want := `failed       AI service: not found
             Try: list the models:
               assetferry ai models
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
