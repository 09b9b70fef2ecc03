package command

import (
	"fmt"
	"slices"

	"assetferry/internal/cli/exit"
	"assetferry/migrate"
)

// Waves returns the waves of the configuration.
func (f *Factory) Waves() (migrate.Waves, error) {
	var all migrate.Waves
	for _, w := range f.Settings.Waves {
		wave := migrate.Wave(w)
		for _, glob := range slices.Concat(wave.Include, wave.Exclude) {
			if err := migrate.CheckGlob(glob); err != nil {
				return nil, exit.Usage(fmt.Errorf("wave %s: %w", wave.Name, err), "*, ? and [a-z] match within a name, ** matches any folders")
			}
		}
		all = append(all, &wave)
	}
	return all, nil
}

// Wave returns the chosen wave; nil if there is none.
func (f *Factory) Wave() (*migrate.Wave, error) {
	all, err := f.Waves()
	return all.Named(f.Settings.Wave), err
}
