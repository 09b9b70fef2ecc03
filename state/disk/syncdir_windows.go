package disk

// SyncDir does nothing: Windows cannot sync a directory, and NTFS logs renames.
func SyncDir(string) error { return nil }
