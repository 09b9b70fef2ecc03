package answer

import (
	"encoding/base64"
	"errors"
	"image/color"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProcess(t *testing.T) {
	square := picture(t, 4, 4, color.White, color.White)
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(square)
	const said = `alt="Made up by the sandbox: a square picture of 4 by 4 pixels, mostly white."`
	for name, tt := range map[string]struct{ prompt, document, want, summary string }{
		"data": {"Add an alt to every image", "<p>teh<img src='" + data + "'>", "<p>teh<img " + said + " src='" + data + "'>", "alternative texts were set for 1 of 1 images."},
		"fetched": {"alternative text", `<IMG SRC=https://host.example/a.png Alt=''/>`, `<IMG SRC=https://host.example/a.png ` + said + `/>`,
			"alternative texts were set for 1 of 1 images."},
		"by its name": {"alternative text in German", `<img alt src="pictures/red_car.jpg?x=1">`, `<img alt="[de] Made up by the sandbox: a picture in a file called “red car”." src="pictures/red_car.jpg?x=1">`,
			"alternative texts were set for 1 of 1 images."},
		"only where there is none": {"Give every img that has no alt attribute one; decoration gets alt=\"\"", `<img alt=""><img alt src=x.png><img src=spacer.png><img src=y.png>`,
			`<img alt=""><img alt src=x.png><img alt="" src=spacer.png><img alt="Made up by the sandbox: a picture in a file called “y”." src=y.png>`,
			"alternative texts were set for 2 of 4 images."},
		"has one":  {"alt", `<img alt="A car" src="">`, `<img alt="A car" src="">`, "alternative texts were set for 0 of 1 images."},
		"replaced": {"Rewrite each alt", `<img a='>' alt = "A car" src="https://host.example/a.png">`, `<img a='>' ` + said + ` src="https://host.example/a.png">`, "alternative texts were set for 1 of 1 images."},
		"no URL": {"alt", `<img><!-- <img> --><script>"<img>"</script>`, `<img alt="Made up by the sandbox: a picture that could not be fetched."><!-- <img> --><script>"<img>"</script>`,
			"alternative texts were set for 1 of 1 images."},
		"corrected":       {"Correct the spelling", "<p>teh car</p>", "<p>The car</p>", "spelling and grammar were corrected with a short list."},
		"already correct": {"Correct the spelling", "<p>The car</p>", "<p>The car</p>", "no change was needed."},
		"translated":      {"Translate to French", "<p>A</p>", "<p>[fr] A</p>", "the text was marked as fr."},
		"unknown":         {"Make it nice", "<p>teh car</p>", "<p>teh car</p>", "nothing was changed, because no rule matches the prompt."},
	} {
		t.Run(name, func(t *testing.T) {
			got := plain.Process(tt.prompt, []string{tt.document, "<p>teh"}, func(url string) ([]byte, error) {
				if url != "https://host.example/a.png" {
					return nil, errors.New("no such page")
				}
				return square, nil
			})
			if len(got) != 2 {
				t.Fatalf("got %v", got)
			}
			if diff := cmp.Diff(Processed{tt.want, "Made up by the sandbox: " + tt.summary}, got[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzProcess verifies that documents without images stay the same, and that others change only
// within their image tags.
func FuzzProcess(f *testing.F) {
	f.Add(`<p data-id="1">a &amp; b<img src=a.png alt></p>`)
	f.Add(`<img src="data:image/png;base64,AAAA" / alt = 'x>`)
	f.Add("teh  the , a  b  c . alot of the the .")
	f.Add("<svg><img/></svg><textarea><img></textarea>\x00\r\n<img")
	f.Fuzz(func(t *testing.T, document string) {
		got := plain.Process("Rewrite every alt", []string{document}, nil)[0].Document
		if !strings.Contains(strings.ToLower(document), "<img") && got != document {
			t.Errorf("%q became %q", document, got)
		}
		if again := plain.Process("Rewrite every alt", []string{got}, nil)[0].Document; again != got {
			t.Errorf("%q became %q at first and then %q", document, got, again)
		}
		if same := edit(document, func(p piece) string { return p.raw }); same != document {
			t.Errorf("%q was read as %q", document, same)
		}
		plain.Review("correctness", nil, document)
		corrected := plain.Act("fix-grammar", nil, document)
		if again := plain.Act("fix-grammar", nil, corrected); again != corrected {
			t.Errorf("%q was corrected to %q and then to %q", document, corrected, again)
		}
		plain.Act("translate", map[string]string{"language": document}, document)
		plain.ActCustom(document, document, "html")
	})
}
