package config

import (
	"slices"
	"strings"
	"testing"
)

// TestPresets verifies that each preset changes exactly the settings that it lists, however it is
// chosen.
func TestPresets(t *testing.T) {
	for _, p := range Presets() {
		for way, s := range map[string]*Settings{
			"flag": mustLoad(t, "", map[string][]string{"preset": {p.Name}}, nil),
			"file": mustLoad(t, "preset: "+p.Name+"\n", nil, nil),
			"job":  mustLoad(t, "jobs:\n  j: {source: ., preset: "+p.Name+"}\n", map[string][]string{"job": {"j"}}, nil),
		} {
			set := map[string]string{}
			for _, setting := range p.Settings {
				set[setting.Key] = setting.Value
			}
			for _, k := range Keys() {
				want, has := set[k.Name]
				if has != (s.SourceOf(k.Name) == FromPreset) {
					t.Errorf("%s by %s: origin of %s is %v", p.Name, way, k.Name, s.SourceOf(k.Name))
				}
				if got := s.Texts(k.Name); has && !slices.Equal(got, []string{want}) {
					t.Errorf("%s by %s: %s is %q, want %q", p.Name, way, k.Name, got, want)
				}
			}
			if !slices.ContainsFunc(s.Effects(), func(e Effect) bool { return e.From == "preset "+p.Name }) {
				t.Errorf("%s by %s: the settings in effect do not name the preset", p.Name, way)
			}
		}
	}
	careful := mustLoad(t, "", map[string][]string{"preset": {"careful"}}, nil)
	if careful.Concurrency != 4 || careful.OnLimit != "fail" || careful.MaxChanges != 100 {
		t.Errorf("careful has no effect: %+v", careful)
	}
	if fast := mustLoad(t, "preset: fast\n", nil, nil); fast.Concurrency != 64 || fast.DriftShare != 0 {
		t.Errorf("fast has no effect: %+v", fast)
	}
	if s := mustLoad(t, "preset: scheduled\n", nil, nil); s.Unsupported != "skip" || s.MinAge == 0 || s.MaxDuration == 0 || s.Progress != "none" {
		t.Errorf("scheduled has no effect: %+v", s)
	}
}

// TestPresetPrecedence verifies that every other way to set a value has precedence over a preset,
// and that presets themselves follow the precedence of settings.
func TestPresetPrecedence(t *testing.T) {
	careful := map[string][]string{"preset": {"careful"}}
	job := map[string][]string{"preset": {"careful"}, "job": {"j"}}
	for _, test := range []struct {
		name, yaml string
		flags      map[string][]string
		want       int
		from       Origin
	}{
		{"nothing", "", nil, 16, FromDefault},
		{"preset", "", careful, 4, FromPreset},
		{"file", "concurrency: 9\n", careful, 9, FromFile},
		{"file with the default", "concurrency: 16\n", careful, 16, FromFile},
		{"job", "concurrency: 9\njobs:\n  j: {source: ., concurrency: 8}\n", job, 8, FromJob},
		{"flag", "concurrency: 9\n", map[string][]string{"preset": {"careful"}, "concurrency": {"7"}}, 7, FromFlag},
		{"preset of a job, and file", "concurrency: 9\njobs:\n  j: {source: ., preset: fast}\n", map[string][]string{"job": {"j"}}, 9, FromFile},
		{"preset of a job over that of the file", "preset: careful\njobs:\n  j: {source: ., preset: fast}\n", map[string][]string{"job": {"j"}}, 64, FromPreset},
		{"preset by a flag over that of the job", "jobs:\n  j: {source: ., preset: fast}\n", job, 4, FromPreset},
	} {
		s := mustLoad(t, test.yaml, test.flags, nil)
		if s.Concurrency != test.want || s.SourceOf("concurrency") != test.from {
			t.Errorf("%s: got %d from %v, want %d from %v", test.name, s.Concurrency, s.SourceOf("concurrency"), test.want, test.from)
		}
	}
	s := newSettings(environment(nil))
	s.Preset, s.Concurrency, s.origin["concurrency"] = "careful", 5, FromEnvironment // no setting of a preset has a variable today
	if err := s.applyPreset(s.table()); err != nil || s.Concurrency != 5 || s.OnLimit != "fail" {
		t.Errorf("got %v, concurrency %d, on_limit %q", err, s.Concurrency, s.OnLimit)
	}
	if _, err := load(t, "", map[string][]string{"preset": {"quick"}}, nil); err == nil || !strings.Contains(err.Error(), "careful, fast, scheduled") {
		t.Errorf("got %v for a preset that does not exist", err)
	}
}
