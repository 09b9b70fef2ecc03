package rclone

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"assetferry/internal/rclone/rclonetest"
)

// roleVariable makes the test program another one: "user" starts an rclone, prints its process ID
// and waits for the end of stdin.
const roleVariable = "RCLONE_TEST_ROLE"

// TestMain also is the stand-in of rclone and its supervisor, because the tests start these as
// processes.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case len(args) > 0 && args[0] == SuperviseArg:
		os.Exit(Supervise(args[1:], os.Stdin))
	case len(args) > 0 && (args[0] == "version" || args[0] == "rcd" || args[0] == "config"):
		os.Exit(rclonetest.Main())
	case os.Getenv(roleVariable) == "user":
		os.Exit(use())
	}
	goleak.VerifyTestMain(m)
}

func use() int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	s, err := Start(context.Background(), Program{self, Version{Major: 1, Minor: 75}}, Options{Environ: os.Environ()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	pid, err := s.PID(context.Background())
	fmt.Println(pid, err)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	_ = s.Close()
	return 0
}
