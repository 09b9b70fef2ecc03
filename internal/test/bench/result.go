package main

import (
	"encoding/json"
	"os"
)

// A result is the measurement of a figure, in the format of the flag -json.
type result struct {
	Figure      string           `json:"figure"`
	Measured    string           `json:"measured"`
	Must        string           `json:"must"`
	Reached     bool             `json:"reached"`
	WallSeconds float64          `json:"wall_seconds,omitempty"`
	CPUSeconds  float64          `json:"cpu_seconds,omitempty"`
	PeakBytes   int64            `json:"peak_bytes,omitempty"`
	Counts      map[string]int64 `json:"counts,omitempty"`
}

func resultsOf(rows []row) (all []result) {
	for _, r := range rows {
		all = append(all, result{
			Figure: r.figure, Measured: r.measured, Must: r.must(), Reached: r.verdict() == reached,
			WallSeconds: r.took.Wall.Seconds(), CPUSeconds: r.took.CPU.Seconds(), PeakBytes: r.took.RSS, Counts: r.took.Counts,
		})
	}
	return all
}

// writeJSON writes a value to a file, or does nothing if the name is empty.
func writeJSON(file string, v any) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
