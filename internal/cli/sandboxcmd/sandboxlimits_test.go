package sandboxcmd

import "testing"

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1024": 1024, "512K": 512 << 10, "50m": 50 << 20, "10G": 10 << 30, "7T": 7 << 40, "9223372036854775807": 1<<63 - 1,
		"": 0, "0": 0, "-1": 0, "K": 0, "1.5G": 0, "1KB": 0, "8388608T": 0, "9223372036854775808": 0, "9007199254740992K": 0, "ſ": 0,
	} {
		var b byteSize
		err := b.Set(text)
		if (err == nil) != (want > 0) || int64(b) != want {
			t.Errorf("%q: got %d, %v, want %d", text, b, err, want)
		}
	}
}
