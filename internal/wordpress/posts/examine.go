package posts

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/rewrite"
	"assetferry/internal/wordpress"
)

// A builder is a plugin that keeps pages in metadata, which the API does not show.
type builder struct {
	name      string // for people and programs
	namespace string // beginning of its routes; may be empty
	plugin    string // beginning of its file
	marker    string // in the pages that it builds
}

// builders are the page builders that are recognized.
var builders = [...]builder{
	{"elementor", "elementor/", "elementor/", "data-elementor-type="},
	{"beaver_builder", "fl-", "bb-plugin/", "fl-builder-content"},
	{"beaver_builder", "fl-", "beaver-builder-lite-version/", "fl-builder-content"},
	{"brizy", "brizy/", "brizy/", "brz-root__container"},
	{"bricks", "bricks/", "bricks/", "brxe-"},
	{"breakdance", "breakdance/", "breakdance/", "breakdance"},
	{"oxygen", "oxygen", "oxygen/", "ct-section"},
	{"siteorigin", "siteorigin", "siteorigin-panels/", "panel-layout"},
	{"themify", "themify", "themify-builder/", "themify_builder_content"},
}

// Kinds of things that the API does not change, besides posts of builders.
const (
	Widgets      = "widgets"
	CustomFields = "custom_fields"
)

// Unreachable returns the kinds of content that the API does not change: builders and others.
func Unreachable() (kinds []string) {
	for _, b := range builders {
		kinds = append(kinds, b.name)
	}
	return append(slices.Compact(kinds), Widgets, CustomFields)
}

// Kinds of references to media that must stay on the site.
const (
	FeaturedImages = "featured_images"
	SiteIcon       = "site_icon"
	SiteLogo       = "site_logo"
)

// LocalKinds returns the kinds of references to media that must stay on the site.
func LocalKinds() []string { return []string{FeaturedImages, SiteIcon, SiteLogo} }

// examine looks for plugins, widgets and settings that refer to media outside of posts. It skips
// those that the account may not see.
func (s *Session) examine(ctx context.Context) error {
	for _, look := range []func(context.Context) error{s.examinePlugins, s.examineWidgets, s.examineSettings} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// examinePlugins sets the builders of the site.
func (s *Session) examinePlugins(ctx context.Context) error {
	site, err := s.API.Site(ctx)
	if err != nil {
		return err
	}
	var plugins []struct {
		Plugin string `json:"plugin"`
	}
	if err := s.look(ctx, "/wp/v2/plugins", url.Values{"status": {"active"}, "_fields": {"plugin"}}, &plugins); err != nil {
		return err
	}
	for _, b := range builders {
		isRouted := slices.ContainsFunc(site.Namespaces, func(n string) bool { return strings.HasPrefix(n+"/", b.namespace) })
		isActive := false
		for _, p := range plugins {
			isActive = isActive || strings.HasPrefix(p.Plugin, b.plugin)
		}
		if isRouted || isActive {
			s.builders = append(s.builders, b)
		}
	}
	return nil
}

// examineSettings counts the images of the settings.
func (s *Session) examineSettings(ctx context.Context) error {
	var settings struct {
		Icon int `json:"site_icon"`
		Logo int `json:"site_logo"`
	}
	if err := s.look(ctx, "/wp/v2/settings", nil, &settings); err != nil {
		return err
	}
	for name, id := range map[string]int{SiteIcon: settings.Icon, SiteLogo: settings.Logo} {
		if id > 0 {
			s.Session.Counts.Local[name]++
		}
	}
	return nil
}

// look reads a route that the account may not see.
func (s *Session) look(ctx context.Context, path string, query url.Values, into any) error {
	err := s.API.Get(ctx, path, query, into)
	if isRefused(err) || wordpress.IsAuth(err) {
		return nil
	}
	return err
}

// examineWidgets counts the widgets with an old URL.
func (s *Session) examineWidgets(ctx context.Context) error {
	var widgets []struct {
		Sidebar  string `json:"sidebar"`
		Instance any    `json:"instance"`
		Rendered string `json:"rendered"`
	}
	if err := s.look(ctx, "/wp/v2/widgets", url.Values{"context": {"edit"}}, &widgets); err != nil {
		return err
	}
	for _, w := range widgets {
		if w.Sidebar == "wp_inactive_widgets" {
			continue
		}
		found, err := s.hasOld([]byte(w.Rendered))
		if err != nil {
			return err
		}
		if found {
			s.Session.Counts.Unreached[Widgets]++
		}
	}
	return nil
}

// examinePost sets the builder of a post, and counts a post with old URLs in custom fields.
func (s *Session) examinePost(p *post) error {
	for _, b := range s.builders {
		if strings.Contains(p.Content.Rendered, b.marker) {
			p.builder = b.name
			s.Session.Counts.Unreached[b.name]++
			s.Watch.Unreached(p.name(), b.name)
			return nil
		}
	}
	found, err := s.hasOld(slices.Concat(p.Meta, []byte("\n"), p.ACF))
	if err == nil && found {
		s.Session.Counts.Unreached[CustomFields]++
		s.Watch.Unreached(p.name(), CustomFields)
	}
	return err
}

// hasOld reports whether a text has an old URL of an asset.
func (s *Session) hasOld(text []byte) (bool, error) {
	var c counter
	err := s.Session.Rewriter.Rewrite(bytes.NewReader(text), &c)
	return c > 0, err
}

// A counter counts the replacements in a text.
type counter int

// Keep implements rewrite.Sink.
func (c *counter) Keep([]byte) error { return nil }

// Spot implements rewrite.Sink.
func (c *counter) Spot(s rewrite.Spot) error {
	if s.Kind == rewrite.Replaced {
		*c++
	}
	return nil
}
