package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/metadata"
	"assetferry/internal/notify"
	"assetferry/internal/ratelimit"
)

// A row is one setting.
type row struct {
	key     string // in the file; the flag has dashes instead
	env     string // the variable; most settings have none
	initial string // the default
	example string // an example value, if there is no default
	set     setter
	values  []string // the allowed values, if they are limited
	list    bool     // takes several values
	yesNo   bool     // true or false in the file, not text
	path    bool     // in the file, relative to the file's folder
	written bool     // a path that runs write to
	url     bool     // or a URL
	secret  bool     // may be a secret, so its text is not kept
}

// A setter checks and stores the values of a setting.
type setter func(values []string) error

// table lists all settings. Their meanings are in the help of their flags.
func (s *Settings) table() []row {
	return []row{
		{key: "preset", example: "careful", values: presetNames(), set: oneOf(&s.Preset, presetNames()...)},
		{key: "to", env: "ASSETFERRY_URL", example: "production", set: text(&s.To)},
		{key: "state", env: "ASSETFERRY_STATE", example: "assetferry.db", set: text(&s.State), path: true, written: true},
		{key: "workspace", env: "ASSETFERRY_WORKSPACE_ID", example: "your-workspace-id", set: text(&s.Workspace)},
		{key: "service", env: "ASSETFERRY_SERVICE", initial: "ckbox", set: text(&s.Service)},
		{key: "user", env: "ASSETFERRY_USER_ID", initial: "assetferry", set: text(&s.User)},
		{key: "compensate_clock", set: yesNo(&s.CompensateClock), yesNo: true},
		{key: "least_privilege", set: yesNo(&s.LeastPrivilege), yesNo: true},
		{key: "wave", example: "press", set: text(&s.Wave)},
		{key: "source_name", example: "library", set: text(&s.SourceName)},
		{key: "endpoint", env: "ASSETFERRY_S3_ENDPOINT", example: "https://s3.example.com", set: serviceURL(&s.Endpoint)},
		{key: "s3_anonymous", set: yesNo(&s.S3Anonymous), yesNo: true},
		{key: "s3_requester_pays", set: yesNo(&s.S3RequesterPays), yesNo: true},
		{key: "s3_tags", set: yesNo(&s.S3Tags), yesNo: true},
		{key: "table_columns", example: "url=Download URL", set: list(&s.TableColumns), list: true},
		{key: "table_root", example: "exported", set: text(&s.TableRoot), path: true},
		{key: "table_check", set: yesNo(&s.TableCheck), yesNo: true},
		{key: "rclone", env: "ASSETFERRY_RCLONE", example: "/opt/rclone/rclone", set: text(&s.Rclone), path: true},
		{key: "source_host", example: "dam.example.com", set: list(&s.SourceHosts), list: true},
		choice("wordpress_folders", &s.WordPressFolders, "date", "post"),
		{key: "allow_private_networks", set: yesNo(&s.AllowPrivateNetworks), yesNo: true},
		{key: "concurrency", initial: "16", set: number(&s.Concurrency, 1, 256)},
		{key: "include", example: "*.jpg", set: list(&s.Include), list: true},
		{key: "exclude", example: "drafts/**", set: list(&s.Exclude), list: true},
		{key: "min_age", initial: "0s", set: duration(&s.MinAge)},
		{key: "versions", initial: "1", set: number(&s.Versions, 1, 10_000)},
		choice("symlinks", &s.Symlinks, "skip", "follow"),
		choice("category_by", &s.CategoryBy, "extension", "folder"),
		{key: "category", example: "Images", set: text(&s.Category)},
		choice("unsupported", &s.Unsupported, "stop", "skip", "create"),
		{key: "fallback_category", example: "Other files", set: text(&s.FallbackCategory)},
		choice("on_collision", &s.OnCollision, "rename", "keep", "conflict"),
		choice("on_existing", &s.OnExisting, "conflict", "adopt", "create"),
		choice("duplicates", &s.Duplicates, "keep", "one-asset"),
		{key: "metadata", example: "metadata.csv", set: text(&s.Metadata), path: true},
		{key: "collections", example: "albums.csv", set: text(&s.Collections), path: true},
		choice("collections_as", &s.CollectionsAs, "tags", "attribute", "none"),
		{key: "collection_prefix", example: "Album: ", set: text(&s.CollectionPrefix)},
		{key: "precedence", initial: "table,sidecar,storage,xmp,iptc,exif", list: true, set: func(values []string) (err error) {
			s.Precedence, err = metadata.ParsePrecedence(values)
			return err
		}},
		{key: "ignore_metadata", example: "sidecar,exif", list: true, set: func(values []string) (err error) {
			s.Ignored, err = metadata.ParseSources(values)
			return err
		}},
		choice("gps", &s.GPS, "keep", "drop"),
		choice("on_limit", &s.OnLimit, "cut", "skip", "fail"),
		choice("delete", &s.Delete, "never", "trash"),
		{key: "grace_period", initial: "20h", set: duration(&s.GracePeriod)},
		{key: "max_delete", initial: "500", set: number(&s.MaxDelete, 0, 1<<30)},
		{key: "max_delete_percent", initial: "1", set: parsed(&s.MaxDeletePercent, parsePercent)},
		{key: "max_changes", initial: "1000", set: number(&s.MaxChanges, 0, 1<<30)},
		{key: "max_changes_percent", initial: "20", set: parsed(&s.MaxChangesPercent, parsePercent)},
		{key: "sentinel", example: "mounted.txt", set: text(&s.Sentinel)},
		{key: "drift_share", initial: "1/30", set: parsed(&s.DriftShare, parseShare)},
		choice("on_destination_change", &s.OnDestinationChange, "keep", "overwrite", "report"),
		choice("on_replace_refused", &s.OnReplaceRefused, "fail", "new-asset"),
		{key: "approval", example: "approval.json", set: text(&s.Approval), path: true},
		{key: "scan_command", example: "clamdscan -", set: text(&s.ScanCommand)},
		{key: "scan_timeout", initial: "2m", set: duration(&s.ScanTimeout)},
		choice("provenance", &s.Provenance, "auto", "always", "never"),
		{key: "wait", initial: "1m", set: duration(&s.Wait)},
		{key: "max_duration", example: "6h", set: duration(&s.MaxDuration)},
		{key: "until", example: "06:00", set: timeOfDay(&s.Until)},
		{key: "max_requests", example: "20000/d", set: parsed(&s.MaxRequests, ratelimit.ParseRequestLimit)},
		{key: "bwlimit", example: "08:00,512K 19:00,off", set: parsed(&s.Bandwidth, ratelimit.ParseTimetable)},
		{key: "keep_runs", initial: "400d", set: duration(&s.KeepRuns)},
		{key: "ai_url", env: "ASSETFERRY_AI_URL", example: "https://ai.cke-cs.com", set: serviceURL(&s.AIURL)},
		choice("ai_limits", &s.AILimits, "auto", "saas", "off"),
		{key: "ai_compatibility", env: "ASSETFERRY_AI_COMPATIBILITY", initial: "1", set: text(&s.AICompatibility)},
		{key: "ai_model", example: "agent-1", set: text(&s.AIModel)},
		{key: "ai_context", example: "house-style", set: list(&s.AIContexts), list: true},
		{key: "ai_permission", example: "ai:conversations:*", set: list(&s.AIPermissions), list: true},
		{key: "ai_route", example: "StreamDocuments=POST /v1/documents/process/stream", set: list(&s.AIRoutes), list: true},
		{key: "max_credits", example: "500", set: parsed(&s.MaxCredits, parseCredits)},
		{key: "enrich_exclude", example: "Images/people/**", set: list(&s.EnrichExclude), list: true},
		{key: "never_category", example: "Contracts", set: list(&s.NeverCategory), list: true},
		{key: "never_tag", example: "no-ai", set: list(&s.NeverTag), list: true},
		choice("enrich_private", &s.EnrichPrivate, "never", "allow"),
		choice("progress", &s.Progress, "auto", "bar", "plain", "none"),
		{key: "log_file", example: "assetferry.log", set: text(&s.LogFile), path: true, written: true},
		{key: "metrics", example: "/var/lib/node_exporter/assetferry.prom", set: text(&s.Metrics), path: true, written: true},
		{key: "notify", env: "ASSETFERRY_NOTIFY", example: "failure=https://hooks.example.com/assetferry", set: targets(&s.Notify), list: true, secret: true},
		{key: "notify_file", env: "ASSETFERRY_NOTIFY_FILE", example: "notify.txt", set: text(&s.NotifyFile), path: true},
		{key: "service_profile", example: "assetferry-profile.yaml", set: text(&s.ServiceProfile), path: true},
		{key: "ca_file", example: "authorities.pem", set: text(&s.CAFile), path: true},
		{key: "allow_http", set: yesNo(&s.AllowHTTP), yesNo: true},
	}
}

// table lists the keys of a destination in the file.
func (n *Named) table() []row {
	return []row{
		{key: "url", example: "https://api.ckbox.io", set: serviceURL(&n.URL)},
		{key: "environment", example: "your-environment-id", set: text(&n.Environment)},
		{key: "access_key", set: refuseSecret},
		{key: "access_key_env", example: "ASSETFERRY_ACCESS_KEY", set: text(&n.AccessKeyEnv)},
		{key: "access_key_file", example: "access.key", set: text(&n.AccessKeyFile), path: true},
		{key: "access_key_command", example: "pass show assetferry", set: text(&n.AccessKeyCommand)},
		{key: "token_command", example: "sign-token --for assetferry", set: text(&n.TokenCommand)},
		{key: "workspace", example: "your-workspace-id", set: text(&n.Workspace)},
		{key: "service", initial: "ckbox", set: text(&n.Service)},
		{key: "user", initial: "assetferry", set: text(&n.User)},
		{key: "service_profile", example: "assetferry-profile.yaml", set: text(&n.ServiceProfile), path: true},
		{key: "ca_file", example: "authorities.pem", set: text(&n.CAFile), path: true},
		{key: "require_approval", initial: "false", set: yesNo(&n.RequireApproval), yesNo: true},
		{key: "approvers_file", example: "/etc/assetferry/approvers", set: text(&n.ApproversFile), path: true},
	}
}

func refuseSecret([]string) error {
	return errors.New("this file must not contain a secret; use access_key_env, access_key_file or access_key_command")
}

// text accepts any text without control characters.
func text(p *string) setter {
	return one(func(value string) error {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%q has a control character", value)
		}
		*p = value
		return nil
	})
}

// serviceURL accepts the URL of a service. Plain HTTP is checked when the URL is used.
func serviceURL(p *string) setter {
	return one(func(value string) error {
		if err := checkURL(value, true); err != nil {
			return err
		}
		*p = value
		return nil
	})
}

// choice returns a setting with a few allowed values, the first by default.
func choice(key string, p *string, allowed ...string) row {
	return row{key: key, initial: allowed[0], values: allowed, set: oneOf(p, allowed...)}
}

func oneOf(p *string, allowed ...string) setter {
	return one(func(value string) error {
		if !slices.Contains(allowed, value) {
			return fmt.Errorf("%q is not one of %s", value, strings.Join(allowed, ", "))
		}
		*p = value
		return nil
	})
}

func yesNo(p *bool) setter {
	return one(func(value string) error {
		switch value {
		case "true", "false":
			*p = value == "true"
			return nil
		}
		return fmt.Errorf("%q is not true or false", value)
	})
}

func number(p *int, low, high int) setter {
	return one(func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%q is not a number from %d to %d", value, low, high)
		}
		*p = n
		return nil
	})
}

func duration(p *time.Duration) setter {
	return one(func(value string) error {
		d, err := ParseDuration(value)
		if err != nil {
			return err
		}
		*p = d
		return nil
	})
}

// timeOfDay accepts a time such as 06:00.
func timeOfDay(p **TimeOfDay) setter {
	return one(func(value string) error {
		t, err := ParseTimeOfDay(value)
		if err != nil {
			return err
		}
		*p = &t
		return nil
	})
}

// parsed accepts what a function can parse.
func parsed[T any](p *T, parse func(string) (T, error)) setter {
	return one(func(value string) (err error) {
		*p, err = parse(value)
		return err
	})
}

func list(p *[]string) setter {
	return func(values []string) error {
		if slices.Contains(values, "") {
			return errors.New("one of the values is empty")
		}
		*p = values
		return nil
	}
}

// targets accepts URLs to notify. A variable has several between spaces.
func targets(p *[]notify.Target) setter {
	return func(values []string) (err error) {
		*p, err = parseTargets(strings.Join(values, " "))
		return err
	}
}

// one returns a setter for one value. The last value of a repeated flag counts.
func one(set func(string) error) setter {
	return func(values []string) error { return set(values[len(values)-1]) }
}

// ParseDuration is time.ParseDuration with days: "7d", "1d12h".
func ParseDuration(value string) (time.Duration, error) {
	const day = 24 * time.Hour
	bad := fmt.Errorf("%q is not a duration such as 30m, 24h or 7d", value)
	days, rest, hasDays := strings.Cut(value, "d")
	if !hasDays {
		days, rest = "0", value
	}
	n, err := strconv.ParseUint(days, 10, 16) // 65,535 days are enough and cannot overflow
	if err != nil {
		return 0, bad
	}
	total := time.Duration(n) * day
	if hasDays && rest == "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || total+d < total {
		return 0, bad
	}
	return total + d, nil
}

// parseCredits parses a number of credits.
func parseCredits(value string) (float64, error) {
	credits, err := strconv.ParseFloat(value, 64)
	if err != nil || !(credits > 0 && credits < 1e12) {
		return 0, fmt.Errorf("%q is not a number of credits above 0", value)
	}
	return credits, nil
}

// parsePercent parses a percentage.
func parsePercent(value string) (float64, error) {
	percent, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(value, "%")), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return 0, fmt.Errorf("%q is not a percentage from 0 to 100", value)
	}
	return percent, nil
}

// parseShare parses a share: a fraction such as 1/30, or a number from 0 to 1.
func parseShare(value string) (float64, error) {
	part, whole, isFraction := strings.Cut(value, "/")
	share, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
	if isFraction && err == nil {
		var of float64
		if of, err = strconv.ParseFloat(strings.TrimSpace(whole), 64); err == nil {
			share /= of
		}
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q is not a share such as 1/30, 0.1 or 0", value)
	}
	return share, nil
}
