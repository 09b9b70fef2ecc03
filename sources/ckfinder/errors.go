package ckfinder

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// Error numbers of connectors.
const (
	invalidCommand = "10"
	invalidType    = "12"
	unauthorized   = "103" // by the rules of the connector
	accessDenied   = "104" // by the file system
	unknownTrouble = "110"
	folderNotFound = "116"
	fileNotFound   = "117"
	disabled       = "500" // without a session
)

// meaning returns the text of an error number without a message.
func meaning(number string) string {
	switch number {
	case invalidCommand:
		return "invalid command"
	case invalidType:
		return "no such resource type"
	case unauthorized:
		return "not allowed"
	case accessDenied:
		return "access denied by the file system"
	case "109":
		return "invalid request"
	case unknownTrouble:
		return "unknown error"
	case folderNotFound:
		return "folder not found"
	case fileNotFound:
		return "file not found"
	case disabled:
		return "the connector is disabled, probably because the session has ended"
	}
	return ""
}

// errPage means that the response is a web page instead of data.
var errPage = errors.New("the response is a web page, probably a login page")

// A foreignError means that a mandatory field is missing in a response.
type foreignError struct{ lacks string }

func (e *foreignError) Error() string {
	return "the response is not that of a CKFinder 3 connector: " + e.lacks + " is missing"
}

// An unreadableError means that a response is not JSON.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return "invalid response: " + e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// refused returns the failure of an unsuccessful response, in one line.
func refused(a *http.Response, problem *trouble) *remote.Failure {
	f := &remote.Failure{Status: a.StatusCode, Kind: retry.Permanent}
	text := http.StatusText(f.Status)
	if problem != nil {
		if problem.Number != 0 {
			f.Code = strconv.Itoa(problem.Number)
		}
		text = meaning(f.Code)
		if message := remote.OneLine(problem.Message); message != "" {
			text = message
		}
	}
	switch {
	case f.Code != "":
		f.Err = fmt.Errorf("error %s: %s", f.Code, text)
	case problem != nil:
		f.Err = errors.New(text)
	case f.Status >= 300 && f.Status < 400:
		f.Err = fmt.Errorf("%d %s to %s", f.Status, text, goal(a))
	default:
		f.Err = fmt.Errorf("%d %s", f.Status, text)
	}
	classify(f, a)
	return f
}

// classify sets the class of a failure.
func classify(f *remote.Failure, a *http.Response) {
	switch {
	case f.Code == disabled, f.Status == http.StatusUnauthorized, f.Status >= 300 && f.Status < 400:
		f.Kind, f.Auth = retry.Fatal, true
	case f.Code == folderNotFound, f.Code == fileNotFound, f.Code == invalidType:
		f.Is = fs.ErrNotExist
	case f.Code == unauthorized, f.Code == accessDenied:
		f.Is = fs.ErrPermission
	case f.Code == unknownTrouble:
		f.Kind = retry.Transient
	case f.Code == "":
		f.Classify(a.Header)
	}
}

// goal returns the target of a redirect without secrets.
func goal(a *http.Response) string {
	u, err := a.Location()
	if err != nil {
		return "an unknown URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// fail returns an error of the source or of one of its objects, without secrets.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := s.hint(op, err)
	if f, ok := errors.AsType[*remote.Failure](err); ok {
		f.Redact(s.client.Redact)
	}
	return &sources.Error{Op: op, Source: s.url.String(), Key: key, Err: err, Hint: hint}
}

const hintURL = "check the URL of the connector, such as ckfinder+https://www.example.com/ckfinder/connector"

// hint returns the next step for the user, or "" if the error is enough.
func (s *Source) hint(op string, err error) string {
	f, failed := errors.AsType[*remote.Failure](err)
	_, foreign := errors.AsType[*foreignError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, remote.ErrPlain):
		return "use ckfinder+https://, or add --allow-http if you trust the network"
	case authority:
		return "if a private authority signed the certificate, add --ca-file FILE"
	case errors.Is(err, sources.ErrChanged):
		return "run the same command again"
	case failed && f.Auth && s.opened:
		return "the session has ended or lacks permission: log in again, update ASSETFERRY_SOURCE_HEADERS and run the same command again; if the connector needs no login, check the URL"
	case failed && f.Auth:
		return "log in with a browser, and set ASSETFERRY_SOURCE_HEADERS='Cookie: NAME=VALUE' to its session; if the connector needs no login, check the URL"
	case failed && f.Status == 0 && f.Kind == retry.Transient:
		return "check the URL, the network and the proxy"
	case failed && op == "list" && s.url.kind != "" && errors.Is(err, fs.ErrNotExist) && (f.Code != "" || f.Status == 0):
		return "check type and currentFolder in the URL"
	case foreign, failed && op == "list" && (f.Status == http.StatusNotFound || f.Code == invalidCommand):
		return hintURL
	case errors.Is(err, fs.ErrPermission):
		return "allow the user of the session to see it, in the access control of the connector"
	}
	return ""
}
