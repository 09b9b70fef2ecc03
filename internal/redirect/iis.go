package redirect

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// An iis writes the section rewriteMaps of IIS URL Rewrite, from the decoded path of a request
// without its first slash to its redirect. A map ignores case. Paths that differ only in case are
// in maps of their own, which do not ignore case, one path in each. They are few, and written last.
type iis struct {
	w       *bufio.Writer
	summary *PathSummary
	written repeatCheck
	unequal map[uint64]int // rows among those that differ only in case, by hash
	exact   []bytes.Buffer // entries of the maps that do not ignore case
}

const iisHead = `<?xml version="1.0" encoding="utf-8"?>
<!--
Old URLs and their new URLs for IIS with URL Rewrite 2, made by assetferry urls.

Put this file beside the web.config of the site of the old URLs, and copy these lines
into the section system.webServer of that web.config, with the name of this file:

     <rewrite>
       <rewriteMaps configSource="assetferry.config" />
       <rules>
         <rule name="assetferry 301" stopProcessing="true">
           <match url=".+" />
           <conditions>
             <add input="%[1]s" pattern="^301 (.+)$" />
           </conditions>
           <action type="Redirect" url="{C:1}" appendQueryString="false" redirectType="Permanent" />
         </rule>
         <rule name="assetferry 302" stopProcessing="true">
           <match url=".+" />
           <conditions>
             <add input="%[1]s" pattern="^302 (.+)$" />
           </conditions>
           <action type="Redirect" url="{C:1}" appendQueryString="false" redirectType="Found" />
         </rule>
       </rules>
     </rewrite>

Verified assets have 301, which browsers keep permanently. The others have 302. Run
assetferry verify, and make this file again.
-->
<rewriteMaps>
  <rewriteMap name="assetferry">
`

// iisFile is the maximum size in bytes of a configuration file that IIS reads by default.
const iisFile = 250 << 10

func iisLimits() limits {
	return limits{
		advice: func(t Tally) string {
			if t.Bytes <= iisFile {
				return ""
			}
			return fmt.Sprintf("IIS reads files of up to 250 KB. For this one, set the DWORD MaxWebConfigFileSizeInKB to at least %d in the registry, at HKLM\\SOFTWARE\\Microsoft\\InetStp\\Configuration.",
				(t.Bytes+1023)>>10)
		},
	}
}

func newIIS(b *bufio.Writer, s *PathSummary) (Writer, error) {
	i := &iis{w: b, summary: s, written: repeatCheck{}, unequal: map[uint64]int{}}
	input := "{assetferry:{R:0}}"
	if most := s.most(); most > 1 {
		i.exact = make([]bytes.Buffer, most)
		for n := range i.exact {
			input += "{" + exactMap(n) + ":{R:0}}" // at most one of the maps returns a text
		}
	}
	_, err := fmt.Fprintf(b, iisHead, input)
	return i, err
}

// exactMap returns the name of a map that does not ignore case.
func exactMap(n int) string { return fmt.Sprintf("assetferry_case_%d", n+1) }

func (i *iis) Write(r Row) error {
	path, err := pathOf(r.Old)
	switch {
	case err != nil:
		return err
	case !isXMLText(path):
		return ErrCharacters
	case !i.written.first(path):
		return errRepeated
	}
	entry := `    <add key="` + xmlText(strings.TrimPrefix(path, "/")) + `" value="` + xmlText(statusOf(r)+" "+r.New) + "\" />\n"
	if i.summary.isAlone(path) {
		_, err = i.w.WriteString(entry)
		return err
	}
	h := i.summary.hashOf(path)
	_, err = i.exact[i.unequal[h]].WriteString(entry)
	i.unequal[h]++
	return err
}

// isXMLText reports whether XML 1.0 can contain a text, and readers do not change it.
func isXMLText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0xfffe || c == 0xffff })
}

// xmlText returns the text of an attribute.
func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder returns no error
	return b.String()
}

func (i *iis) Close() error {
	for n := range i.exact {
		if i.exact[n].Len() == 0 {
			continue // the rows of one hash are repeated ones
		}
		fmt.Fprintf(i.w, "  </rewriteMap>\n  <rewriteMap name=\"%s\" ignoreCase=\"false\">\n", exactMap(n))
		if _, err := i.exact[n].WriteTo(i.w); err != nil {
			return err
		}
	}
	if _, err := i.w.WriteString("  </rewriteMap>\n</rewriteMaps>\n"); err != nil {
		return err
	}
	return i.w.Flush()
}
