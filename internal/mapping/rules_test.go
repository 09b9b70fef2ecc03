package mapping

import (
	"strings"
	"testing"
)

// TestMistakes verifies that every error in a rule is reported with its place and a helpful
// message.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":          {"rule: []", `assetferry.yaml:2:3: unknown key "rule"; did you mean "rules"?`},
		"unknown key in rule":  {"rules:\n  - wen: size > 1\n    skip: true", `:3:7: unknown key "wen"; did you mean "when"?`},
		"key twice":            {"rules:\n  - skip: true\n    skip: false", `:4:7: "skip" appears twice, first in line 3`},
		"no list":              {"rules:\n  skip: true", `:3:5: rules must be a list; begin each rule with "- "`},
		"no value":             {"rules:\n  - when:\n    skip: true", ":3:7: when needs a value"},
		"says nothing":         {"rules:\n  - when: size > 1", ":3:7: the rule has only a condition"},
		"unknown name":         {"rules:\n  - when: capton == \"x\"\n    skip: true", `:3:13: unknown name "capton"; did you mean "caption"?`},
		"unknown name in text": {"rules:\n  - folder: photos/${ date(createt, \"YYYY\") }/x", `:3:30: unknown name "createt"; did you mean "created"?`},
		"in a block":           {"rules:\n  - description: |\n      A first line\n      and ${ captoin }", `:5:16: unknown name "captoin"; did you mean "caption"?`},
		"in double quotes":     {"rules:\n  - description: \"\\u00e9 ${ captoin }\"", `:3:31: unknown name "captoin"`},
		"condition is text":    {"rules:\n  - when: key\n    skip: true", ":3:13: expected bool, but got string"},
		"condition in braces":  {"rules:\n  - when: ${ size > 1 }\n    skip: true", `:3:13: when is an expression; remove "${" and "}"`},
		"exclamation mark":     {"rules:\n  - when: !has(\"x\")\n    skip: true", `:3:13: a value cannot begin with "!"; write not, or quote the value`},
		"not closed":           {"rules:\n  - folder: a/${ key", `:3:17: the "}" of this expression is missing`},
		"comment":              {"rules:\n  - tags: ${ filter(tags, # != \"x\") }", `:3:13: the "}" of this expression is missing; if it contains " #", quote the whole text`},
		"empty expression":     {"rules:\n  - folder: a/${ }", ":3:19: the expression is empty"},
		"ends early":           {"rules:\n  - folder: ${ key + }", "the expression ends too early"},
		"list as text":         {"rules:\n  - description: ${ tags }", ":3:23: the expression returns several values; join them"},
		"wrong argument":       {"rules:\n  - folder: ${ flatten(size) }", "cannot use int as argument (type string) to call flatten"},
		"field not in quotes":  {"rules:\n  - folder: ${ field(key) }", ":3:24: field needs the name of a field in quotes"},
		"function as value":    {"rules:\n  - folder: ${ field }", ":3:18: field is a function; it needs arguments in parentheses"},
		"variable as function": {"rules:\n  - folder: ${ key(1) }", "key"},
		"pattern":              {"rules:\n  - when: key matches folder\n    skip: true", "matches needs a pattern in quotes"},
		"bad pattern":          {"rules:\n  - when: key matches \"(\"\n    skip: true", "missing closing )"},
		"bad form of a date":   {"rules:\n  - folder: ${ date(created, \"2006/01\") }", `:3:32: "2006/01" is not a date format; use YYYY, MM, DD, hh, mm and ss, as in "YYYY/MM"`},
		"let":                  {"rules:\n  - folder: ${ let x = key; x }", "let is not supported in expressions"},
		"range":                {"rules:\n  - when: all(1..9, size > 1)\n    skip: true", ".. is not supported in expressions"},
		"three deep":           {"rules:\n  - when: 'any(tags, any(tags, # == key)) and any(tags, any(tags, any(tags, # == key)))'\n    skip: true", ":3:59: conditions on lists are nested more than 2 levels deep"},
		"environment":          {"rules:\n  - folder: ${ $env[\"key\"] }", "$env is not supported in expressions"},
		"clock":                {"rules:\n  - folder: ${ now() }", `unknown name "now"`},
		"skip":                 {"rules:\n  - skip: maybe", ":3:13: skip must be true or false"},
		"defaults":             {"defaults: some", ":2:13: defaults must be on or off"},
		"description: nothing": {"rules:\n  - description:", `description needs a value; "~" omits the field`},
		"attribute: nothing":   {"rules:\n  - attributes:\n      Title:", `Title needs a value; "~" omits the field`},
		"own attribute":        {"rules:\n  - attributes:\n      assetferry: x", ":4:9: the attribute assetferry is reserved for assetferry"},
		"template":             {"rules:\n  - use: exprt", `:3:12: unknown template "exprt"; did you mean "export"?`},
		"use with more":        {"rules:\n  - use: export\n    skip: true", `:4:7: unknown key "skip"`},
		"column renamed":       {"columns:\n  title: tags", `:3:5: "title" is a known field and cannot be renamed`},
		"rename to nothing":    {"rules:\n  - rename_tags: {a: ''}", "a tag needs a new name; drop_tags removes it"},
		"a list":               {"- skip: true", `:2:3: "key: value" lines are expected here`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
