//go:build unix

package dailyruns_test

import (
	"fmt"
	"math/rand/v2"

	"assetferry/internal/faultpoint"
)

// script returns the fixed events, day by day: a fortnight, and two runs that overwrite the changes
// of users.
func script(dice *rand.Rand) []scene {
	some, all := policy{trash: true}, policy{trash: true, percent: 100}
	wins := policy{look: 1, repair: true, overwrite: true}
	last := []string{"--drift-share", "1", "--repair", "--yes", "--on-destination-change", "overwrite"}
	trash, trashAll := []string{"--delete", "trash"}, []string{"--delete", "trash", "--max-delete-percent", "100"}
	return []scene{
		{name: "everything is new", calm: true, day: begin},
		{name: "nothing happens", calm: true, day: visit, quiet: true},
		{name: "contents change", day: contents},
		{name: "names change", day: names},
		{name: "descriptions at both ends", day: descriptions},
		{name: "people at the destination", day: people, args: []string{"--drift-share", "1"}, policy: policy{look: 1}},
		{name: "what cannot be read, and what is gone", day: closed},
		{name: "more is gone than may be trashed", day: opened, args: trash, policy: some},
		{name: "the service is out of order", faults: []string{"* * status=503"}, exit: 1},
		{name: "what is gone is trashed, and what was back in time is not", day: back, args: append(trash, "--accept-deletes", "1000"), policy: all},
		{name: "the service loses answers", faults: []string{
			"POST /assets drop=after nth=3", "POST /assets status=503 commit=after nth=4", "PATCH /assets/{id} drop=after once=2",
			"POST /assets/{id} drop=before once=2", "POST /assets/move drop=after once=1"}},
		{name: "killed, and gone on with at once", day: arrivals, dies: somewhere(dice)},
		{name: "killed, and left", day: arrivals, dies: somewhere(dice), left: true, args: trashAll, policy: all},
		{name: "resumed by the next run", args: trashAll, policy: all},
		{name: "the source has the last word", args: last, policy: wins},
		{name: "what changed elsewhere is put back, too", calm: true, args: last, policy: wins},
	}
}

// somewhere returns a random point before the end of a run.
func somewhere(dice *rand.Rand) string {
	points := []faultpoint.Point{faultpoint.Staged, faultpoint.Decided, faultpoint.Planned, faultpoint.Taken, faultpoint.FolderMade,
		faultpoint.Opened, faultpoint.Sent, faultpoint.Described, faultpoint.Recorded}
	return fmt.Sprintf("%s:1", points[dice.IntN(len(points))])
}

func begin(w *world) {
	for i := range 250 {
		folder := [...]string{"", "a/", "a/b/", "a/b/c/", "d e/", "ü/"}[i%6]
		w.library.add(fmt.Sprintf("chance/%sfile %03d.%s", folder, i, [...]string{"jpg", "png", "pdf", "txt"}[i%4]))
	}
	for i := range 40 {
		w.library.add(fmt.Sprintf("script/folder/%d/%02d.jpg", i%4, i))
	}
	for _, name := range []string{"changed", "rewritten", "touched", "all at once"} {
		w.library.add("script/contents/" + name + ".jpg")
	}
	w.library.add("script/names/left.pdf", "script/names/right.pdf", "script/names/first.png", "script/names/second.png", "script/names/file.jpg")
	for _, name := range []string{"one", "case", "elsewhere", "described", "with its folder/1", "with its folder/2"} {
		w.library.add("script/names/" + name + ".png")
	}
	w.library.alike("script/twins/1.txt", "script/twins/2.txt", "script/pair/1/name.txt", "script/pair/2/other name.txt")
	for _, name := range []string{"new", "changed", "both", "people only", "erased"} {
		w.library.add("script/words/" + name + ".pdf")
	}
	w.library.say("script/names/described.png", "it goes along", "with", "it")
	w.library.say("script/words/changed.pdf", "what the library said first", "first")
	w.library.say("script/words/both.pdf", "what the library said first", "first", "taken away")
	w.library.say("script/words/erased.pdf", "what stays", "this too")
	for _, name := range []string{"deleted", "destroyed", "moved", "renamed", "retouched"} {
		w.library.add("script/people/"+name+".txt", "script/people/and changed/"+name+".txt")
	}
	for _, name := range []string{"touched", "changed", "as it was"} {
		w.library.add("script/closed/" + name + ".txt")
	}
	for _, name := range []string{"back", "gone", "gone and deleted", "gone and edited"} {
		w.library.add("script/gone/" + name + ".txt")
	}
}

// visit uploads an asset, as a user does, that the tool must ignore.
func visit(w *world) { w.bring("Images", "of a person.jpg") }

func contents(w *world) {
	w.library.change("script/contents/changed.jpg")
	w.library.rewrite("script/contents/rewritten.jpg")
	w.library.touch("script/contents/touched.jpg")
	w.library.change("script/contents/all at once.jpg")
	w.library.say("script/contents/all at once.jpg", "described with its new content", "new")
}

func names(w *world) {
	l := w.library
	l.rename("script/names/one.png", "script/names/ein anderer ü.png")
	l.rename("script/names/case.png", "script/names/CASE.png")
	l.rename("script/names/elsewhere.png", "script/moved/elsewhere.png")
	l.rename("script/names/described.png", "script/moved/under another name.png")
	l.renameFolder("script/names/with its folder/", "script/moved/with its folder/")
	l.renameFolder("script/folder/1/", "script/folder renamed/")
	l.rename("script/twins/1.txt", "script/twins/3.txt")
	l.rename("script/twins/2.txt", "script/twins/4.txt")
	l.renameFolder("script/pair/", "script/couple/")
	l.exchange("script/names/left.pdf", "script/names/right.pdf")
	l.rename("script/names/second.png", "script/names/third.png")
	l.rename("script/names/first.png", "script/names/second.png")
	l.remove("script/names/file.jpg")
	l.add("script/names/file.jpg/is a folder now.jpg")
}

func descriptions(w *world) {
	l := w.library
	l.say("script/words/new.pdf", "what the library says", "of", "it")
	l.say("script/words/changed.pdf", "what the library said then", "then")
	l.say("script/words/both.pdf", "what the library said then", "then", "taken away")
	w.edit("script/words/both.pdf", metadata{"what people wrote", []string{"first", "theirs"}})
	w.edit("script/words/people only.pdf", metadata{"what people wrote", []string{"theirs"}})
	l.say("script/words/erased.pdf", "")
}

func people(w *world) {
	for folder, elsewhere := range map[string]string{"script/people/": "Documents", "script/people/and changed/": "Documents/script"} {
		w.throwAway(folder + "deleted.txt")
		w.destroy(folder + "destroyed.txt")
		w.moveAway(folder+"moved.txt", elsewhere)
		w.nickname(folder+"renamed.txt", "what people call it")
		w.retouch(folder + "retouched.txt")
	}
	w.library.change(w.library.under("script/people/and changed/")...)
}

func closed(w *world) {
	w.library.add("script/closed/new.txt")
	w.library.touch("script/closed/touched.txt")
	w.library.change("script/closed/changed.txt")
	w.library.shut("script/closed/new.txt", "script/closed/touched.txt", "script/closed/changed.txt", "script/closed/as it was.txt")
	w.library.hide("script/folder/2/", true)
	w.library.remove("script/gone/gone.txt", "script/gone/gone and deleted.txt", "script/gone/gone and edited.txt")
	w.throwAway("script/gone/gone and deleted.txt")
	w.edit("script/gone/gone and edited.txt", metadata{"what people wrote", nil})
}

func opened(w *world) {
	w.library.open(w.library.under("script/closed/")...)
	w.library.hide("script/folder/2/", false)
	w.library.remove(w.library.under("script/folder/3/")...)
	w.library.remove("script/gone/back.txt")
}

func back(w *world) { w.library.restore("script/gone/back.txt", "script/folder/3/03.jpg") }

// arrivals adds enough objects that a run can be interrupted among them.
func arrivals(w *world) {
	for i := range 12 {
		w.library.add(fmt.Sprintf("script/arrivals/day %d/%02d.jpg", w.today, i))
	}
}
