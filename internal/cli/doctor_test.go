package cli

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"assetferry/internal/sandbox/sandboxtest"
)

// cmdDiagnosis prints the checks of doctor that are not ok, or all checks, without text that
// differs between runs or machines, and with each text on one line:
//
//	diagnosis [all]
func cmdDiagnosis(ts *testscript.TestScript, _ bool, args []string) {
	text := scrub(ts, ts.ReadFile("stdout"))
	text = regexp.MustCompile(`\n {13}([^ T]|T[^r])`).ReplaceAllString(text, " $1")
	for _, change := range [][2]string{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "YYYY-MM-DDThh:mm:ssZ"},
		{`\d+\.\d ms`, "0.0 ms"},
		{`free space  .*`, "free space  1.0 GB"},
		{`trace [0-9a-f-]{36}`, "trace ID"},
		{`process \d+`, "process 1"},
		{`server's clock, which says \S+:`, "server's clock, which says TIME:"},
	} {
		text = regexp.MustCompile(change[0]).ReplaceAllString(text, change[1])
	}
	if len(args) > 0 {
		fmt.Fprint(ts.Stdout(), text)
		return
	}
	shown := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			shown = !strings.HasPrefix(line, "ok ") && line != "\n"
		}
		if shown {
			fmt.Fprint(ts.Stdout(), line)
		}
	}
}

// cmdNewer gives a state database the version of a later assetferry.
func cmdNewer(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	const userVersion = 60 // offset in a SQLite file
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, 99), userVersion)
	ts.Check(err)
	ts.Check(f.Close())
	ts.Check(os.Remove(ts.MkAbs(args[0]) + ".sums")) // a newer version would have written its own checksums
}

// cmdToken writes a token; CLAIMS are JSON that replaces its claims: token FILE ROLE [CLAIMS]
func cmdToken(ts *testscript.TestScript, _ bool, args []string) {
	s := serviceOf(ts)
	claims := sandboxtest.Claims(s.env, args[1])
	if len(args) > 2 {
		ts.Check(json.Unmarshal([]byte(args[2]), &claims))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(sandboxtest.Sign(s.env.AccessKey, claims)), 0o600))
}

// cmdBare deletes all categories of the service.
func cmdBare(ts *testscript.TestScript, _ bool, _ []string) {
	s := serviceOf(ts)
	all, err := s.structure()
	ts.Check(err)
	for _, c := range all {
		ts.Check(s.call("DELETE", "/admin/categories/"+c.ID, nil, "", nil))
	}
}
