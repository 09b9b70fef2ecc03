package report

import "assetferry/migrate"

// reasonText returns the sentence of a reason, by its code.
func reasonText(code string) string { return migrate.Reason(code).Text() }
