package demo

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestPDF(t *testing.T) {
	files := written(t)
	found := 0
	for name, pdf := range files {
		if strings.HasSuffix(name, ".pdf") {
			found++
			checkPDF(t, name, pdf)
		}
	}
	if found != 4 {
		t.Errorf("%d PDF files, want 4", found)
	}
	checkPDF(t, "hostile", onePagePDF([]string{`(a\b)`, ")"}))
}

// checkPDF follows a PDF file from its end, as readers do.
func checkPDF(t *testing.T, name string, pdf []byte) {
	t.Helper()
	end := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(pdf)
	if end == nil || !bytes.HasPrefix(pdf, []byte("%PDF-1.4\n")) {
		t.Fatalf("%s: no start or no end", name)
	}
	at, _ := strconv.Atoi(string(end[1]))
	table, ok := bytes.CutPrefix(pdf[at:], []byte("xref\n0 6\n0000000000 65535 f \n"))
	if !ok {
		t.Fatalf("%s: no table at %d", name, at)
	}
	for i := range 5 {
		entry := table[20*i : 20*i+20]
		offset, err := strconv.Atoi(string(entry[:10]))
		if err != nil || string(entry[10:]) != " 00000 n \n" {
			t.Fatalf("%s: entry %q", name, entry)
		}
		if want := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(pdf[offset:], []byte(want)) {
			t.Errorf("%s: at %d is %q, want %q", name, offset, pdf[offset:offset+10], want)
		}
	}
	stream := regexp.MustCompile(`(?s)/Length (\d+) >>\nstream\n(.*)endstream`).FindSubmatch(pdf)
	if length, _ := strconv.Atoi(string(stream[1])); length != len(stream[2]) {
		t.Errorf("%s: the stream is %d bytes long, not %d", name, len(stream[2]), length)
	}
}
