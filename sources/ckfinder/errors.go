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

// The numbers that connectors give their errors, as far as they matter here.
const (
	invalidCommand = "10"
	invalidType    = "12"
	unauthorized   = "103" // by the rules of the connector
	accessDenied   = "104" // by the file system
	unknownTrouble = "110"
	folderNotFound = "116"
	fileNotFound   = "117"
	disabled       = "500" // for who is not logged in
)

// meanings are what numbers stand for, where a connector says no more.
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
		return "the connector is disabled, as it is for who is not logged in"
	}
	return ""
}

// errPage says that somebody gave a page for people where data should be.
var errPage = errors.New("the answer is a web page, as one to log in at is, and not what a connector says")

// A foreignError says that an answer lacks what the command always gives.
type foreignError struct{ lacks string }

func (e *foreignError) Error() string {
	return "the answer has no " + e.lacks + ", so it is not that of a CKFinder 3 connector"
}

// An unreadableError says that an answer is no JSON.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return "the answer cannot be read: " + e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// refused is an answer that is no success. It is told in one line.
func refused(a *http.Response, told *trouble) *remote.Failure {
	f := &remote.Failure{Status: a.StatusCode, Kind: retry.Permanent}
	text := http.StatusText(f.Status)
	if told != nil {
		if told.Number != 0 {
			f.Code = strconv.Itoa(told.Number)
		}
		text = meaning(f.Code)
		if message := remote.OneLine(told.Message); message != "" {
			text = message
		}
	}
	switch {
	case f.Code != "":
		f.Err = fmt.Errorf("error %s: %s", f.Code, text)
	case told != nil:
		f.Err = errors.New(text)
	case f.Status >= 300 && f.Status < 400:
		f.Err = fmt.Errorf("%d %s to %s", f.Status, text, goal(a))
	default:
		f.Err = fmt.Errorf("%d %s", f.Status, text)
	}
	classify(f, a)
	return f
}

// classify finds out what an answer means.
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
	case f.Code != "":
	case f.Status == http.StatusForbidden:
		f.Is = fs.ErrPermission
	case f.Status == http.StatusNotFound, f.Status == http.StatusGone:
		f.Is = fs.ErrNotExist
	case f.Status == http.StatusTooManyRequests, f.Status == http.StatusServiceUnavailable:
		f.Kind, f.Wait = retry.Throttled, retry.Asked(a.Header)
	case f.Status == http.StatusRequestTimeout, f.Status >= 500:
		f.Kind = retry.Transient
	}
}

// goal is where an answer sends us, without what may be a secret.
func goal(a *http.Response) string {
	u, err := a.Location()
	if err != nil {
		return "nowhere"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// fail makes an error about the source or one of its objects. It holds no secrets.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := s.hint(op, err)
	if f, ok := errors.AsType[*remote.Failure](err); ok {
		if text := f.Err.Error(); s.client.Redact(text) != text {
			f.Err = errors.New(s.client.Redact(text))
		}
	}
	return &sources.Error{Op: op, Source: s.address.String(), Key: key, Err: err, Hint: hint}
}

const hintAddress = "check the address: it is that of the connector, such as ckfinder+https://www.example.com/ckfinder/connector"

// hint is the next step for a person; empty if the text of the error says it all.
func (s *Source) hint(op string, err error) string {
	f, failed := errors.AsType[*remote.Failure](err)
	_, foreign := errors.AsType[*foreignError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, remote.ErrPlain):
		return "use ckfinder+https://, or --allow-http if the network in between is trusted"
	case authority:
		return "if the certificate is from a private authority, name that with --ca-file"
	case errors.Is(err, sources.ErrChanged):
		return "list the source again"
	case failed && f.Auth && s.opened:
		return "the session has ended, or may not see this: log in again, renew ASSETFERRY_SOURCE_HEADERS and run the same command again; if nobody has to log in there, check the address"
	case failed && f.Auth:
		return "give a session along: ASSETFERRY_SOURCE_HEADERS='Cookie: NAME=VALUE', as a browser has it that is logged in; if nobody has to log in there, check the address"
	case failed && f.Status == 0 && f.Kind == retry.Transient:
		return "check the address, the network and the proxy"
	case failed && op == "list" && s.address.kind != "" && errors.Is(err, fs.ErrNotExist) && (f.Code != "" || f.Status == 0):
		return "check type and currentFolder in the address; the connector must know both"
	case foreign, failed && op == "list" && (f.Status == http.StatusNotFound || f.Code == invalidCommand):
		return hintAddress
	case errors.Is(err, fs.ErrPermission):
		return "give the user of the session the right to see it, in the access control of the connector"
	}
	return ""
}
