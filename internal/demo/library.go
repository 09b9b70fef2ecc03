package demo

import (
	"fmt"
	"image"
	"time"
)

// library lists all files. The trouble makers say so.
func library() []file {
	var files []file
	files = append(files, harbour()...)
	files = append(files, market()...)
	files = append(files, team()...)
	files = append(files, zurich()...)
	files = append(files, scans()...)
	files = append(files, web()...)
	files = append(files, brand()...)
	files = append(files, documents()...)
	return files
}

func harbour() []file {
	captions := []string{"Harbour at first light", "Two boats leave the pier", "Fog over the breakwater"}
	var files []file
	for i := range 12 {
		width, height := 1024, 683
		if i < 3 {
			width, height = 1600, 1067
		}
		p := photo{
			make: "Northlight", model: "NL-7 Mark II", width: width, height: height,
			taken: at(2024, time.May, 3, 5, 40+i, 2*time.Hour),
			scene: func(w, h int) *image.RGBA { return harbourScene(w, h, dice(100+i)) },
		}
		if i < len(captions) {
			p.description = captions[i]
		}
		if i == 0 {
			p.place = &place{north: angle{53, 32, 3412}, east: angle{9, 57, 5804}}
		}
		files = append(files, p.file(fmt.Sprintf("photos/2024/harbour/harbour-%02d.jpg", i+1)))
	}
	return files
}

func market() []file {
	var files []file
	for i := range 8 {
		p := photo{
			make: "Northlight", model: "NL-7 Mark II", width: 800, height: 533, description: "Market day",
			taken: at(2024, time.September, 14, 10, 5*i, 2*time.Hour),
			scene: func(w, h int) *image.RGBA { return marketScene(w, h, dice(200+i)) },
		}
		files = append(files, p.file(fmt.Sprintf("photos/2024/market/market-%02d.jpg", i+1)))
	}

	cover := photo{
		make: "Northlight", model: "NL-7 Mark II", width: 640, height: 427, description: "Cover",
		taken: at(2024, time.September, 14, 12, 0, 2*time.Hour),
		scene: func(w, h int) *image.RGBA { return marketScene(w, h, 250) },
	}
	cafe := cover
	cafe.scene = func(w, h int) *image.RGBA { return marketScene(w, h, 251) }
	return append(files,
		cafe.file("photos/2024/market/cafe\u0301.jpg"), // the accent is a character of its own, as macOS writes it
		cover.file("photos/2024/cover.jpg"),
		cover.file("photos/2025/cover.jpg"), // the same name and the same content in two folders
	)
}

func team() []file {
	names := []string{"Anna Berger", "Chidi Okafor", "Jürgen Weiß", "Lucía Ortiz", "Mei Tanaka", "Noah Lindqvist", "Priya Raman", "Zoë Martin"}
	var files []file
	for i, name := range names {
		p := photo{
			make: "Handheld", model: "H5", width: 600, height: 800, description: "Portrait " + fmt.Sprint(i+1),
			taken: at(2025, time.March, 18, 9, 6*i, time.Hour),
			scene: func(w, h int) *image.RGBA { return portraitScene(w, h, dice(300+i)) },
		}
		p.turned = i%2 == 0
		files = append(files, p.file("photos/2025/team/"+name+".jpg"))
	}
	return files
}

func zurich() []file {
	var files []file
	for i := range 6 {
		p := photo{
			make: "Handheld", model: "H5", width: 1024, height: 768,
			taken: at(2025, time.August, 2, 17, 7*i, 2*time.Hour),
			scene: func(w, h int) *image.RGBA { return harbourScene(w, h, dice(400+i)) },
		}
		if i == 0 {
			p.place = &place{north: angle{47, 21, 5940}, east: angle{8, 32, 1520}}
		}
		files = append(files, p.file(fmt.Sprintf("photos/2025/Zürich/IMG_%d.JPG", 2001+i)))
	}
	noise := dice(7)
	return append(files,
		// A file with the extension of an image, but random content.
		bytesFile("photos/2025/broken.jpg", at(2025, time.August, 3, 8, 0, 2*time.Hour), noise.bytes(20_000)),
		// A system file of the macOS Finder.
		bytesFile("photos/.DS_Store", at(2025, time.August, 3, 8, 1, 2*time.Hour), append([]byte("\x00\x00\x00\x01Bud1"), make([]byte, 6140)...)),
	)
}

func scans() []file {
	taken := at(2023, time.November, 6, 14, 0, time.Hour)
	var files []file
	for i, name := range []string{"ledger-1911-01.tif", "ledger-1911-02.tif", "map-harbour.tiff"} {
		files = append(files, file{name: "photos/scans/" + name, time: taken, content: func() ([]byte, error) {
			return encodeTIFF(scanScene(420, 594, dice(500+i)))
		}})
	}
	return files
}

func web() []file {
	made := at(2025, time.January, 20, 11, 30, time.Hour)
	var files []file
	for i, name := range []string{"hero.webp", "banner-spring.webp", "banner-summer.webp", "banner-autumn.webp", "banner-winter.webp"} {
		files = append(files, file{name: "web/" + name, time: made, content: func() ([]byte, error) {
			return encodeWebP(bannerScene(480, 160, dice(600+i)))
		}})
	}
	for i, name := range []string{"badge-new.gif", "badge-sale.gif"} {
		files = append(files, file{name: "web/badges/" + name, time: made, content: func() ([]byte, error) {
			return encodeGIF([]*image.RGBA{logo(96, palette(i), true)})
		}})
	}
	return append(files, file{name: "web/loading.gif", time: made, content: func() ([]byte, error) {
		return encodeGIF(spinner(64, 12))
	}})
}

func brand() []file {
	made := at(2022, time.June, 1, 9, 0, 2*time.Hour)
	png := func(name string, size, colour int, transparent bool) file {
		return file{name: "brand/" + name, time: made, content: func() ([]byte, error) {
			return encodePNG(logo(size, palette(colour), transparent))
		}}
	}
	variant := png("logos/Logo.png", 400, 1, true)
	variant.caseVariant = true
	return []file{
		png("logos/logo.png", 400, 0, true),
		variant, // another image whose name differs in case only
		png("logos/logo-white.png", 400, 2, true),
		png("logos/mark-512.png", 512, 0, false),
		png("logos/mark-64.png", 64, 0, false),
		png("logos/favicon.png", 32, 0, true),
		{name: "brand/colours.png", time: made, content: func() ([]byte, error) {
			return encodePNG(bannerScene(600, 200, 700))
		}},
		pdfFile("brand/guidelines.pdf", made, "Brand guidelines", "Keep the mark clear of other things.", "Never turn it, never stretch it."),
	}
}

func documents() []file {
	day := func(year int, month time.Month, day int) time.Time { return at(year, month, day, 16, 0, time.Hour) }
	return []file{
		pdfFile("documents/Annual report 2024.pdf", day(2025, time.February, 28), "Annual report 2024", "Ships handled: 1,284", "Visitors: 310,542"),
		pdfFile("documents/contracts/2025-03 lease (pier 4).pdf", day(2025, time.March, 11), "Lease of pier 4", "Between the harbour and the rowing club."),
		pdfFile("documents/press/press-kit.pdf", day(2025, time.May, 5), "Press kit", "Pictures may be used with their credits."),
		textFile("documents/about.md", day(2025, time.May, 5), aboutText),
		textFile("documents/press/2025-01 new ferry.md", day(2025, time.January, 9), ferryText),
		textFile("documents/press/2025-06 award.md", day(2025, time.June, 19), awardText),
		textFile("documents/notes/ideas.txt", day(2024, time.December, 2), ideasText),
		textFile("documents/notes/opening hours.txt", day(2024, time.April, 1), hoursText),
		textFile("documents/notes/empty.txt", day(2024, time.April, 2), ""), // no bytes at all
		textFile("documents/inventory.csv", day(2025, time.July, 1), inventoryText()),
		textFile("documents/press/captions.csv", day(2025, time.July, 2), captionsText),
		textFile("documents/models/pier.xyz", day(2023, time.October, 10), pierText), // an extension that no category allows
	}
}

// at returns a time in a zone with an offset from UTC.
func at(year int, month time.Month, day, hour, minute int, ahead time.Duration) time.Time {
	zone := time.FixedZone("", int(ahead.Seconds()))
	return time.Date(year, month, day, hour, minute, 0, 0, zone)
}

func bytesFile(name string, t time.Time, content []byte) file {
	return file{name: name, time: t, content: func() ([]byte, error) { return content, nil }}
}

func textFile(name string, t time.Time, content string) file {
	return bytesFile(name, t, []byte(content))
}

func pdfFile(name string, t time.Time, lines ...string) file {
	return bytesFile(name, t, onePagePDF(lines))
}
