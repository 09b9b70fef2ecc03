package preflight

// An activity is what the content of a file may do where it is opened.
type activity int

const (
	passive activity = iota
	drawing
	page
	macros
	program
)

// activityOrder is the order in which people are told of them.
var activityOrder = []activity{page, drawing, macros, program}

// activeSVG is told by a Survey of all SVG, by a Probe of those that may run script.
const activeSVG = "active-svg"

const decidesActive = "--exclude; a private category; or who answers for them"

// activities are the sums of files that may do something, none found yet.
func activities() map[activity]*sum {
	return map[activity]*sum{
		page:    {definition: definition{id: "active-pages", severity: Warning, title: "HTML or XML, which may run script in a browser", remedy: decidesActive}},
		drawing: {definition: definition{id: activeSVG, severity: Warning, title: "SVG, which may run script in a browser", remedy: decidesActive}},
		macros:  {definition: definition{id: "active-macros", severity: Warning, title: "may hold macros, by the extension", remedy: decidesActive}},
		program: {definition: definition{id: "active-programs", severity: Warning, title: "can be run as a program, by the extension", remedy: decidesActive}},
	}
}

// activityOf tells by an extension in lower case what a file may do.
func activityOf(extension string) activity {
	switch extension {
	case "svg", "svgz":
		return drawing
	case "html", "htm", "xhtml", "xht", "shtml", "mht", "mhtml", "xml", "xsl", "xslt":
		return page
	case "docm", "dotm", "xlsm", "xltm", "xlam", "xlsb", "pptm", "potm", "ppsm", "ppam", "sldm":
		return macros
	case "exe", "dll", "msi", "msix", "scr", "com", "pif", "cpl", "sys", "bat", "cmd", "ps1", "psm1", "vbs", "vbe", "js", "mjs", "jse",
		"wsf", "wsh", "hta", "lnk", "reg", "sh", "bash", "command", "app", "dmg", "pkg", "deb", "rpm", "appimage", "jar", "apk", "swf",
		"php", "phtml", "jsp", "asp", "aspx", "py", "pl", "rb":
		return program
	}
	return passive
}
