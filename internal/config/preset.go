package config

import (
	"fmt"
	"slices"

	"assetferry/internal/flagname"
)

// A Preset is a named set of settings. Any other value of a setting has precedence over the preset.
type Preset struct {
	Name, About string
	Settings    []Setting
}

// Flags returns the settings of the preset as a person would type them.
func (p Preset) Flags() (flags []string) {
	for _, s := range p.Settings {
		flags = append(flags, "--"+flagname.Of(s.Key)+" "+s.Value)
	}
	return flags
}

// Presets returns all presets. The help lists them with exactly these settings.
func Presets() []Preset {
	return []Preset{
		{"careful", "slow, with low limits, for a first run or a destination that others use", []Setting{
			{"concurrency", "4"}, {"on_limit", "fail"}, {"max_delete", "20"}, {"max_changes", "100"}, {"max_changes_percent", "5"},
			{"grace_period", "7d"}, {"drift_share", "1/7"},
		}},
		{"fast", "many requests at once, no search for changes at the destination", []Setting{
			{"concurrency", "64"}, {"drift_share", "0"},
		}},
		{"scheduled", "unattended, skips unsupported file types and files that are being written", []Setting{
			{"unsupported", "skip"}, {"min_age", "5m"}, {"wait", "10m"}, {"max_duration", "6h"}, {"progress", "none"},
		}},
	}
}

// presetNames are the values of the setting.
func presetNames() (names []string) {
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}

// applyPreset applies the chosen preset to settings without another value.
func (s *Settings) applyPreset(rows []row) error {
	at := slices.IndexFunc(Presets(), func(p Preset) bool { return p.Name == s.Preset })
	if at < 0 {
		return nil
	}
	for _, setting := range Presets()[at].Settings {
		n := slices.IndexFunc(rows, func(r row) bool { return r.key == setting.Key })
		if n < 0 {
			return fmt.Errorf("preset %s: there is no setting %s", s.Preset, setting.Key)
		}
		if s.origin[setting.Key] > FromPreset {
			continue
		}
		if err := s.put(rows[n], []string{setting.Value}, FromPreset); err != nil {
			return fmt.Errorf("preset %s: %s: %w", s.Preset, setting.Key, err)
		}
	}
	return nil
}
