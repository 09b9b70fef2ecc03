package demo

import (
	"fmt"
	"strings"
)

// onePagePDF writes a title and lines of ASCII text onto a page of A4.
func onePagePDF(lines []string) []byte {
	var text strings.Builder
	text.WriteString("BT /F1 24 Tf 72 760 Td 28 TL\n")
	for i, line := range lines {
		if i == 1 {
			text.WriteString("/F1 12 Tf 18 TL T*\n")
		}
		line = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(line)
		fmt.Fprintf(&text, "(%s) Tj T*\n", line)
	}
	text.WriteString("ET\n")

	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", text.Len(), text.String()),
	}
	var pdf strings.Builder
	pdf.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n") // this comment marks the file as binary
	var offsets []int
	for i, object := range objects {
		offsets = append(offsets, pdf.Len())
		fmt.Fprintf(&pdf, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	xref := pdf.Len()
	fmt.Fprintf(&pdf, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&pdf, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&pdf, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
	return []byte(pdf.String())
}
