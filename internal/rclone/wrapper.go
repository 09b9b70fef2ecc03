package rclone

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
)

// A wrapperError means that the program is not rclone itself: it has started rclone as another process.
// The system ends only the former together with this process, so rclone could outlive both.
type wrapperError struct{ started, rclone int }

func (e *wrapperError) Error() string {
	return fmt.Sprintf("it starts rclone as another process (%d instead of %d), which could outlive assetferry", e.rclone, e.started)
}

// hintWrapper is the next step after a *wrapperError.
const hintWrapper = `in a script, start rclone with exec, such as exec rclone "$@", or name the program rclone itself with --rclone FILE`

// endsChildOnly is set where the system ends the process that was started, but none that it started.
const endsChildOnly = runtime.GOOS == "linux"

// checkWrapper returns a *wrapperError if another process listens than the one that was started. An
// rclone that does not answer is no error: the next call says more.
func (p *process) checkWrapper(ctx context.Context) error {
	if !endsChildOnly {
		return nil
	}
	pid, err := p.pid(ctx)
	if err != nil || pid == p.cmd.Process.Pid {
		return nil
	}
	return &wrapperError{p.cmd.Process.Pid, pid}
}

// pid asks rclone for its process ID.
func (p *process) pid(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"core/pid", strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.send(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct{ PID int }
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&answer); err != nil {
		return 0, err
	}
	if answer.PID == 0 {
		return 0, fmt.Errorf("no process ID: %s", res.Status)
	}
	return answer.PID, nil
}
