package openapitest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// isEvents reports whether a content type is a stream of events.
func isEvents(contentType string) bool { return mediaType(contentType) == "text/event-stream" }

// checkEvents compares the events of a stream with x-events by name. As in browsers, comments
// and events without data are ignored.
func (d *description) checkEvents(media node, stream string) error {
	described, _ := d.child(media, "x-events")
	blocks := strings.Split(strings.ReplaceAll(stream, "\r\n", "\n"), "\n\n")
	for _, block := range blocks[:len(blocks)-1] { // the last one has no end
		name, data := readEvent(block)
		if data == "" {
			continue
		}
		event, ok := d.child(described, name)
		if !ok {
			return fmt.Errorf("the event %q is not described", name)
		}
		if err := d.validate(event, opened(name, []byte(data))); err != nil {
			return fmt.Errorf("event %s: %w: %s", name, err, data)
		}
	}
	return nil
}

func readEvent(block string) (name, data string) {
	name = "message"
	var lines []string
	for line := range strings.SplitSeq(block, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch key {
		case "event":
			name = value
		case "data":
			lines = append(lines, value)
		}
	}
	return name, strings.Join(lines, "\n")
}

// opened removes the envelope that a sandbox adds to data to imitate earlier versions.
func opened(name string, data []byte) []byte {
	var envelope struct {
		Event string
		Data  json.RawMessage
	}
	if err := json.Unmarshal(data, &envelope); err != nil || envelope.Event != name || envelope.Data == nil {
		return data
	}
	return envelope.Data
}
