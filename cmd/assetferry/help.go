package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help/*.txt
var helpTexts embed.FS

// topic marks a command that is only there to be read about.
const topic = "topic"

// addTopics adds what assetferry help can tell beside its commands. A topic is a
// file whose first line says what it is about.
func addTopics(root *cobra.Command) {
	entries, err := helpTexts.ReadDir("help")
	if err != nil {
		panic(err) // embedded at build time
	}
	for _, e := range entries {
		text, err := helpTexts.ReadFile("help/" + e.Name())
		if err != nil {
			panic(err) // embedded at build time
		}
		about, long, _ := strings.Cut(string(text), "\n\n")
		root.AddCommand(&cobra.Command{
			Use: strings.TrimSuffix(e.Name(), ".txt"), Short: about, Long: about + ".\n\n" + long,
			Annotations: map[string]string{topic: ""},
		})
	}
}

func isTopic(c *cobra.Command) bool {
	_, is := c.Annotations[topic]
	return is
}
