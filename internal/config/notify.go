package config

import (
	"fmt"
	"strings"

	"assetferry/internal/notify"
)

// Targets returns the URLs to notify, with those in notify_file. It calls warn if others can read
// that file.
func (s *Settings) Targets(warn func(string)) ([]notify.Target, error) {
	if s.NotifyFile == "" {
		return s.Notify, nil
	}
	text, err := readSecret(s.NotifyFile, warn)
	if err != nil {
		return nil, &UsageError{Msg: fmt.Sprintf("notify_file: %v", err), Hint: "name a file with one URL per line"}
	}
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept.WriteString(line)
		}
	}
	more, err := parseTargets(kept.String())
	if err != nil {
		return nil, &UsageError{Msg: fmt.Sprintf("notify_file %s: %v", s.NotifyFile, err), Hint: "write one URL per line, such as failure=https://hooks.example.com/assetferry"}
	}
	return append(more, s.Notify...), nil
}

// parseTargets reads URLs between spaces or line breaks.
func parseTargets(text string) (all []notify.Target, err error) {
	for n, word := range strings.Fields(text) {
		t, err := notify.ParseTarget(word)
		if err != nil {
			return nil, fmt.Errorf("URL %d: %w", n+1, err)
		}
		all = append(all, t)
	}
	return all, nil
}
