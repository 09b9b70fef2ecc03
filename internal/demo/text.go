package demo

import (
	"fmt"
	"strings"
)

const aboutText = `# The harbour

A made-up harbour with a real archive: photos of its boats and its market, the
faces of its team, and the papers that any such place collects.

| Folder | What is in it |
| --- | --- |
| photos | pictures by year and occasion |
| brand | logos and how to use them |
| documents | reports, press releases, notes |
`

const ferryText = `# A new ferry

The harbour has a new ferry. It crosses every twenty minutes, takes bicycles
along, and is quiet enough to hear the gulls.

![The ferry at dawn](https://assets.example.com/harbour-02.jpg)
`

const awardText = `# An award for the market

Each Saturday since 1911. The jury liked the cheese; we like the company.
`

const ideasText = `- lend the old maps to the school
- ask Chidi about the night photos
- label the scans: who is the man with the accordion?
`

const hoursText = `Monday to Friday   08:00 - 18:00
Saturday           07:00 - 14:00
Sunday             closed
`

const captionsText = `key,title,credit
photos/2024/harbour/harbour-01.jpg,Harbour at first light,Anna Berger
photos/2024/harbour/harbour-02.jpg,Two boats leave the pier,Anna Berger
photos/2024/harbour/harbour-03.jpg,"Fog, and the breakwater",Zoë Martin
`

const pierText = `8
corners of pier 4, in metres
C 0.0 0.0 0.0
C 42.5 0.0 0.0
C 42.5 6.0 0.0
C 0.0 6.0 0.0
C 0.0 0.0 1.8
C 42.5 0.0 1.8
C 42.5 6.0 1.8
C 0.0 6.0 1.8
`

// inventoryText returns a table of items in a store room.
func inventoryText() string {
	things := []string{"rope", "buoy", "lantern", "anchor", "flag", "life vest", "paddle"}
	var b strings.Builder
	b.WriteString("number,thing,shelf,pieces\n")
	d := dice(800)
	for i := range 120 {
		fmt.Fprintf(&b, "%03d,%s,%c%d,%d\n", i+1, things[d.roll(len(things))], 'A'+d.roll(6), 1+d.roll(9), 1+d.roll(40))
	}
	return b.String()
}
