//go:build browser

package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A browser is headless Chromium, driven by its DevTools protocol over a pipe: key presses are
// real, the width is exact, and the page's policy applies.
//
// The protocol is JSON with a zero byte after each message: requests with a number, answers with
// the same number, and events.
type browser struct {
	requests io.Writer

	mu      sync.Mutex
	last    int
	answers map[int]chan answer
	tabs    map[string]func(event) // by session
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

type event struct {
	Method string
	Params json.RawMessage
}

// startBrowser starts a browser that ends with the test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	theirs, requests := pipe(t)
	answers, theirAnswers := pipe(t)
	arguments := []string{
		"--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
		"--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(),
	}
	if os.Geteuid() == 0 { // Chromium's own sandbox does not work for root
		arguments = append(arguments, "--no-sandbox")
	}
	c := exec.Command(chromium(t), append(arguments, "about:blank")...)
	c.ExtraFiles = []*os.File{theirs, theirAnswers} // the file descriptors 3 and 4 of the process
	c.Stderr = io.Discard                           // so that Wait returns when all processes of Chromium have ended, since they write into its folder
	c.WaitDelay = time.Minute
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	_ = theirAnswers.Close()
	b := &browser{requests: requests, answers: map[int]chan answer{}, tabs: map[string]func(event){}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(answers)
	}()
	t.Cleanup(func() {
		const patience = time.Minute
		kill := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		_ = requests.Close() // Chromium ends when its request pipe is closed
		<-read
		_ = c.Wait()
	})
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read handles the messages of the browser until it ends.
func (b *browser) read(from *os.File) {
	defer from.Close()
	for r := bufio.NewReader(from); ; {
		line, err := r.ReadBytes(0)
		if err != nil {
			b.end()
			return
		}
		var message struct {
			ID        int
			SessionID string
			answer
			event
		}
		if err := json.Unmarshal(line[:len(line)-1], &message); err != nil {
			continue // the caller that waits for a missing answer reports it
		}
		b.mu.Lock()
		waiting, watch := b.answers[message.ID], b.tabs[message.SessionID]
		delete(b.answers, message.ID)
		b.mu.Unlock()
		switch {
		case waiting != nil:
			waiting <- message.answer
		case watch != nil && message.Method != "":
			watch(message.event)
		}
	}
}

// end makes all waiting calls fail.
func (b *browser) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, waiting := range b.answers {
		close(waiting)
	}
	b.answers = nil
}

// call sends a request to the browser, in a tab if there is one.
func (b *browser) call(ctx context.Context, session, method string, params, result any) error {
	b.mu.Lock()
	if b.answers == nil {
		b.mu.Unlock()
		return errors.New("the browser has ended")
	}
	b.last++
	id, waiting := b.last, make(chan answer, 1)
	b.answers[id] = waiting
	b.mu.Unlock()
	request, err := json.Marshal(struct {
		ID        int    `json:"id"`
		SessionID string `json:"sessionId,omitempty"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
	}{id, session, method, params})
	if err != nil {
		return err
	}
	if _, err := b.requests.Write(append(request, 0)); err != nil {
		return err
	}
	select {
	case a, ok := <-waiting:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser has ended", method)
		case a.Error != nil:
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		case result != nil:
			return json.Unmarshal(a.Result, result)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// A tab shows one page.
type tab struct {
	*testing.T
	browser *browser
	session string
	ctx     context.Context

	mu        sync.Mutex
	loaded    chan struct{}
	requested []string // URLs
	complains []string // console messages, such as violations of the page's policy
}

type object = map[string]any

// open opens a page in a window of a width, in a light or dark colour scheme.
func (b *browser) open(t *testing.T, rawURL string, width int, scheme string) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	p := &tab{T: t, browser: b, ctx: ctx, loaded: make(chan struct{}, 1)}
	var made struct{ TargetID string }
	p.must(b.call(ctx, "", "Target.createTarget", object{"url": "about:blank"}, &made))
	var attached struct{ SessionID string }
	p.must(b.call(ctx, "", "Target.attachToTarget", object{"targetId": made.TargetID, "flatten": true}, &attached))
	p.session = attached.SessionID
	b.mu.Lock()
	b.tabs[p.session] = p.watch
	b.mu.Unlock()
	t.Cleanup(func() { _ = b.call(ctx, "", "Target.closeTarget", object{"targetId": made.TargetID}, nil) })
	for _, domain := range []string{"Page", "Log", "Runtime", "Network"} {
		p.call(domain+".enable", nil, nil)
	}
	p.call("Emulation.setFocusEmulationEnabled", object{"enabled": true}, nil)
	p.call("Emulation.setDeviceMetricsOverride", object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.emulate("", scheme)
	p.call("Page.navigate", object{"url": rawURL}, nil)
	select {
	case <-p.loaded:
	case <-ctx.Done():
		t.Fatalf("%s is not loaded", rawURL)
	}
	return p
}

// emulate shows the page on a medium; an empty one is the screen.
func (p *tab) emulate(medium, scheme string) {
	p.Helper()
	p.call("Emulation.setEmulatedMedia", object{"media": medium,
		"features": []object{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// watch records the requests and console messages of a page.
func (p *tab) watch(e event) {
	var params struct {
		Request          struct{ URL string }
		Entry            struct{ Level, Text string }
		ExceptionDetails struct{ Text string }
	}
	_ = json.Unmarshal(e.Params, &params)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Network.requestWillBeSent":
		p.requested = append(p.requested, params.Request.URL)
	case "Log.entryAdded":
		if params.Entry.Level != "info" && params.Entry.Level != "verbose" {
			p.complains = append(p.complains, params.Entry.Text)
		}
	case "Runtime.exceptionThrown":
		p.complains = append(p.complains, params.ExceptionDetails.Text)
	}
}

// seen returns the requested URLs and the console messages.
func (p *tab) seen() (requested, complains []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requested, p.complains
}

func (p *tab) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *tab) call(method string, params, result any) {
	p.Helper()
	p.must(p.browser.call(p.ctx, p.session, method, params, result))
}

// eval evaluates an expression in the page, and waits for it if it is a promise.
func (p *tab) eval(expression string, value any) {
	p.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", object{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if e := got.ExceptionDetails; e != nil {
		p.Fatalf("%.60s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if value != nil {
		p.must(json.Unmarshal(got.Result.Value, value))
	}
}

// tabulator presses Tab, which moves the focus.
func (p *tab) tabulator() {
	p.Helper()
	const code = 9
	p.press("Tab", "Tab", code)
}

// key presses a key that has no meaning to the browser.
func (p *tab) key(key, code string) {
	p.Helper()
	p.press(key, code, 0)
}

func (p *tab) press(key, code string, number int) {
	p.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		p.call("Input.dispatchKeyEvent", object{"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number}, nil)
	}
}

// says fails the test unless an element has a text.
func (p *tab) says(selector, want string) {
	p.Helper()
	var got string
	if p.eval(fmt.Sprintf(`document.querySelector(%q).innerText`, selector), &got); got != want {
		p.Errorf("%s says %q, want %q", selector, got, want)
	}
}

// downloads makes the browser save files in a folder. saved waits for the next one and returns its
// name.
func (p *tab) downloads(folder string) (saved func() string) {
	p.Helper()
	done := make(chan string, 1)
	var name string
	p.browser.mu.Lock()
	p.browser.tabs[""] = func(e event) { // events without a session come here, one after the other
		var is struct{ SuggestedFilename, State string }
		_ = json.Unmarshal(e.Params, &is)
		switch {
		case e.Method == "Browser.downloadWillBegin":
			name = is.SuggestedFilename
		case e.Method == "Browser.downloadProgress" && is.State == "completed":
			done <- name
		}
	}
	p.browser.mu.Unlock()
	p.must(p.browser.call(p.ctx, "", "Browser.setDownloadBehavior", object{"behavior": "allow", "downloadPath": folder, "eventsEnabled": true}, nil))
	return func() string {
		p.Helper()
		select {
		case name := <-done:
			return name
		case <-p.ctx.Done():
			p.Fatal("the browser saved nothing")
			return ""
		}
	}
}

// picture saves a screenshot of the whole page.
func (p *tab) picture(path string) {
	p.Helper()
	var got struct{ Data string }
	p.call("Page.captureScreenshot", object{"format": "png", "captureBeyondViewport": true}, &got)
	p.save(path, got.Data)
}

// print prints the page to a PDF file in A4, and returns its size in bytes.
func (p *tab) print(path string) (size int) {
	p.Helper()
	var got struct{ Data string }
	p.call("Page.printToPDF", object{"printBackground": true, "paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": true}, &got)
	return p.save(path, got.Data)
}

func (p *tab) save(path, encoded string) (size int) {
	p.Helper()
	content, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)))
	p.must(err)
	p.must(os.WriteFile(path, content, 0o644))
	return len(content)
}
