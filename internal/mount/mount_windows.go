package mount

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

func network(path string) (string, error) {
	volume := filepath.VolumeName(path)
	if isShare(volume) {
		return "share", nil
	}
	root, err := windows.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return "", err
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "network drive", nil
	}
	return "", nil
}

// isShare reports whether a volume is \\host\share, and not \\?\C: or \\.\C:, unless that
// is the long form of a share.
func isShare(volume string) bool {
	volume = strings.ReplaceAll(volume, "/", `\`)
	rest, is := strings.CutPrefix(volume, `\\`)
	long := strings.HasPrefix(rest, `?\`) || strings.HasPrefix(rest, `.\`)
	return is && (!long || strings.HasPrefix(strings.ToUpper(rest[2:]), `UNC\`))
}
