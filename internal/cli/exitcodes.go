package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/exit"
)

// A meaning explains an exit code that a command can return.
type meaning struct {
	code int
	text string
}

// meanings explains each exit code in the words that fit most commands.
var meanings = map[int]string{
	exit.CodeDone:        "success",
	exit.CodeError:       "error",
	exit.CodeUsage:       "wrong flag, setting or argument",
	exit.CodeItems:       "finished, but some items failed or are in conflict",
	exit.CodeDifference:  "verification found differences",
	exit.CodeChanges:     "the plan has changes (--exit-code)",
	exit.CodeSafetyCheck: "stopped by a safety check, or not approved",
	exit.CodeLimit:       "limit or time window reached; run the command again to continue",
	exit.CodeNoSuch:      "no such run, or no state database",
	exit.CodeInUse:       "another process uses the state database",
	exit.CodeAuth:        "authentication failed",
	exit.CodeInterrupted: "interrupted",
}

// Codes that commands of a kind share.
const (
	offlineCodes  = "0 1 2"                    // commands that send no request, and need no state database
	readCodes     = "0 1 2 10 130"             // commands that read the state database
	keepCodes     = "0 1 2 10 11 130"          // commands that write to the state database only
	askCodes      = "0 1 2 7 12 130"           // commands that send requests
	askStateCodes = "0 1 2 7 11 12 130"        // commands that send requests and write to the state database
	changeCodes   = "0 1 2 6 7 12 130"         // commands that change the destination without a run
	runCodes      = "0 1 2 3 6 7 11 12 130"    // commands that carry out a run
	namedRunCodes = "0 1 2 3 6 7 10 11 12 130" // the same for a run that is named
)

// codes lists the exit codes of each command. A row for a group holds for all commands in it that
// have no row of their own.
var codes = map[string]string{
	"":            "0 2",
	"demo":        "0 1 2 130",
	"doctor":      "0 1 2 6 7 12 130",
	"init":        "0 1 2 130",
	"sandbox":     "0 1 2 11",
	"plan":        "0 1 2 3 5 6 7 11 12 130",
	"rehearse":    "0 1 2 3 6 7 11 12 130",
	"apply":       runCodes,
	"migrate":     runCodes,
	"sync":        runCodes,
	"adopt":       runCodes,
	"undo":        namedRunCodes,
	"verify":      "0 1 2 3 4 7 10 11 12 130",
	"export":      "0 1 2 3 7 12 130",
	"status":      "0 1 2 3 10 130",
	"runs":        readCodes,
	"explain":     readCodes,
	"report":      "0 1 2 3 10 130",
	"urls":        "0 1 2 4 10 11 130",
	"certificate": offlineCodes,
	"rewrite":     "0 1 2 3 10 12 130",
	"assets":      askCodes,
	"ai":          askCodes,
	"enrich":      askStateCodes,
	"schedule":    "0 1 2 12 130",
	"state":       keepCodes,
	"completion":  offlineCodes,
	"help":        offlineCodes,
	"man":         offlineCodes,
	"version":     offlineCodes,

	"sandbox status":                "0 1 2 10",
	"sandbox stop":                  offlineCodes,
	"assets copy":                   "0 1 2 3 6 7 12 130",
	"assets category add-extension": "0 1 2 3 6 7 12 130",
	"assets folder rename":          changeCodes,
	"assets folder delete":          changeCodes,
	"assets quality":                changeCodes,
	"ai conversations rm":           "0 1 2 7 10 12 130",
	"ai contexts show":              "0 1 2 7 10 12 130",
	"ai contexts create":            "0 1 2 3 6 7 12 130",
	"ai contexts add":               "0 1 2 3 6 7 10 12 130",
	"ai contexts change":            "0 1 2 3 6 7 10 12 130",
	"ai contexts delete":            "0 1 2 3 6 7 10 12 130",
	"enrich describe":               "0 1 2 3 7 11 12 130",
	"enrich review":                 "0 1 2 3 7 11 12 130",
	"enrich translate":              "0 1 2 3 7 11 12 130",
	"enrich documents":              "0 1 2 3 7 12 130",
	"enrich apply":                  runCodes,
	"enrich proposals":              "0 1 2 7 10 11 12 130",
	"enrich accept":                 keepCodes,
	"enrich reject":                 keepCodes,
	"enrich import":                 keepCodes,
	"enrich decorative":             keepCodes,
	"permissions plan":              "0 1 2 3 7 12 130",
	"permissions apply":             "0 1 2 3 4 6 7 12 130",
	"state check":                   "0 1 2 4 10 130",
	"state log":                     "0 1 2 4 10 130",
	"state forget":                  "0 1 2 6 10 11 130",
	"certificate create":            "0 1 2 3 6 10 11 130",
	"certificate check":             "0 1 2 3 4 6 7 10 11 12 130",
	"certificate prove":             "0 1 2 4 10 130",
}

// ownMeanings explains codes that mean something more definite for a command.
var ownMeanings = map[string]map[int]string{
	"permissions plan":  {exit.CodeItems: "the plan skips rows"},
	"permissions apply": {exit.CodeItems: "rows were skipped, refused or not confirmed", exit.CodeDifference: "the result is not the expected one"},
	"doctor":            {exit.CodeError: "error, or a check failed", exit.CodeSafetyCheck: "the probe is not approved", exit.CodeAuth: "the authentication check failed"},
	"sandbox":           {exit.CodeInUse: "another sandbox uses the folder"},
	"plan": {
		exit.CodeItems:       "the plan has conflicts or unreadable objects",
		exit.CodeSafetyCheck: "a safety check would stop the run",
	},
	"rehearse": {
		exit.CodeItems:       "the service would refuse some objects",
		exit.CodeSafetyCheck: "unsupported file types block the plan",
	},
	"apply":   {exit.CodeItems: "finished, but some items failed or changed, or are in conflict or unconfirmed"},
	"migrate": {exit.CodeItems: "finished, but some items failed or changed, or are in conflict or unconfirmed"},
	"sync":    {exit.CodeItems: "finished, but some items failed or changed, or are in conflict or unconfirmed"},
	"adopt":   {exit.CodeSafetyCheck: "stopped by a safety check"},
	"undo":    {exit.CodeItems: "finished, but some items failed or are in conflict", exit.CodeSafetyCheck: "not approved"},
	"verify":  {exit.CodeItems: "the run is unfinished, or some of its items were not completed"},
	"export":  {exit.CodeItems: "finished, but some files could not be written"},
	"status":  {exit.CodeItems: "the watched run stopped, or has unfinished items (--watch)"},
	"report":  {exit.CodeItems: "the list is incomplete"},
	"urls":    {exit.CodeDifference: "a URL does not lead to its asset (--check)"},
	"rewrite": {exit.CodeItems: "finished, but some files or posts could not be rewritten"},

	"sandbox status":       {exit.CodeNoSuch: "no sandbox is running"},
	"assets folder delete": {exit.CodeSafetyCheck: "the folder is not empty, or the command is not approved"},
	"ai conversations rm":  {exit.CodeNoSuch: "no such conversation"},
	"enrich documents":     {exit.CodeItems: "finished, but some pages failed"},
	"state check":          {exit.CodeDifference: "the state database is damaged"},
	"certificate create":   {exit.CodeItems: "certified, but incomplete or not verified (--accept-incomplete)", exit.CodeSafetyCheck: "the migration is incomplete or not verified"},
	"certificate check":    {exit.CodeItems: "intact, but the migration is incomplete or not verified", exit.CodeDifference: "a file was changed, or the destination differs (--live)", exit.CodeSafetyCheck: "the signer is not in --signers"},
	"certificate prove":    {exit.CodeDifference: "a file was changed", exit.CodeNoSuch: "the certificate covers no such object"},
	"state log":            {exit.CodeDifference: "the action log was changed"},
}

// exitCodesOf lists the exit codes that a command can return.
func exitCodesOf(c *cobra.Command) (list []meaning) {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	row, known := codes[path]
	for parent := path; !known && parent != ""; {
		parent = parent[:max(strings.LastIndex(parent, " "), 0)]
		row, known = codes[parent]
	}
	if c.HasAvailableSubCommands() && c.Annotations[groupOnly] != "" {
		row = codes[""]
	}
	for field := range strings.FieldsSeq(row) {
		code, err := strconv.Atoi(field)
		if err != nil {
			panic(err) // the table is ours
		}
		text := meanings[code]
		if own := ownMeanings[path][code]; own != "" {
			text = own
		}
		if strings.HasPrefix(path, "ai contexts") && code == exit.CodeNoSuch {
			text = "no such context"
		}
		list = append(list, meaning{code, text})
	}
	return list
}
