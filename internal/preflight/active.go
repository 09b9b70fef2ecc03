package preflight

// An activity is the kind of code that a file may run when it is opened.
type activity int

const (
	passive activity = iota
	drawing
	page
	macros
	program
)

// activityOrder is the order of findings.
var activityOrder = []activity{page, drawing, macros, program}

// activeSVG is the code of the finding about SVG files. A Probe limits it to files with scripts.
const activeSVG = "active_svg"

const decidesActive = "use --exclude or a private category, or allow public access if you trust the content owner"

// activities returns empty sums of files that may run code.
func activities() map[activity]*sum {
	return map[activity]*sum{
		page:    {definition: definition{id: "active_pages", severity: Warning, title: "HTML or XML, which may run scripts in a browser", remedy: decidesActive}},
		drawing: {definition: definition{id: activeSVG, severity: Warning, title: "SVG, which may run scripts in a browser", remedy: decidesActive}},
		macros:  {definition: definition{id: "active_macros", severity: Warning, title: "may contain macros, judging by the extension", remedy: decidesActive}},
		program: {definition: definition{id: "active_programs", severity: Warning, title: "can be run as a program, judging by the extension", remedy: decidesActive}},
	}
}

// activityOf returns the activity for an extension in lower case.
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
