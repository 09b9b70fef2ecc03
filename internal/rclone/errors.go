package rclone

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"assetferry/internal/pattern"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
)

var (
	// ErrDirectoryNotFound means that the storage has no such folder. It is an fs.ErrNotExist, too.
	ErrDirectoryNotFound = notFound("directory not found")
	// ErrFile means that the path of a storage is a file.
	ErrFile = errors.New("is a file, not a folder")
	// ErrUnknownRemote means that the configuration of rclone has no remote of that name.
	ErrUnknownRemote = errors.New("unknown remote")
	// ErrUnreachable means that no connection to the storage is possible.
	ErrUnreachable = errors.New("the storage is not reachable")
	// ErrCertificate means that the certificate of the storage is not valid, or not known.
	ErrCertificate = errors.New("the certificate of the storage is not accepted")
	// ErrPlainHTTP means that a storage with an https URL has no TLS.
	ErrPlainHTTP = errors.New("the storage has no TLS")
	// ErrEncrypted means that the configuration needs a password, and none is set.
	ErrEncrypted = errors.New("the configuration of rclone is encrypted")
	// ErrWrongPassword means that the password does not decrypt the configuration.
	ErrWrongPassword = errors.New("wrong password for the configuration of rclone")
	// ErrConfig means that the configuration cannot be read.
	ErrConfig = errors.New("the configuration of rclone cannot be read")
	// ErrUndecryptable means that rclone cannot decrypt a name or the content of an encrypted remote.
	ErrUndecryptable = errors.New("cannot be decrypted")
	// ErrTooManyCrashes means that rclone ended unexpectedly too often in one command.
	ErrTooManyCrashes = errors.New("rclone ended unexpectedly too often")
	// ErrClosed means that the Server is closed.
	ErrClosed = errors.New("rclone is closed")
)

// errBracket means that a parameter of a storage has a bracket.
var errBracket = errors.New("] in a parameter")

// notFound is an error that is an fs.ErrNotExist.
type notFound string

func (e notFound) Error() string        { return string(e) }
func (e notFound) Is(target error) bool { return target == fs.ErrNotExist }

// An Error is the response of rclone to a call that failed.
type Error struct {
	Command string // such as "operations/list", or "" for the content of an object
	Status  int    // of the response
	Message string // one line, without secrets
	Is      error  // ErrUnknownRemote, fs.ErrNotExist and the like, or nil

	kind retry.Class
	auth bool
}

func (e *Error) Error() string {
	if errors.Is(e.Is, ErrUnknownRemote) { // the message of rclone does not mention the remote
		return e.Is.Error() + ": " + e.Message
	}
	return e.Message
}

// Unwrap returns the known reason, or nil.
func (e *Error) Unwrap() error { return e.Is }

// Class implements retry.Classified.
func (e *Error) Class() retry.Class { return e.kind }

// IsAuth implements the interface of sources.IsAuth: the storage refuses the credentials.
func (e *Error) IsAuth() bool { return e.auth }

// Hint returns the next step, or "".
func (e *Error) Hint() string {
	switch {
	case errors.Is(e.Is, ErrUnknownRemote):
		return "list the remotes with rclone listremotes, and create one with rclone config"
	case errors.Is(e.Is, ErrFile):
		return "name the folder of the file, and use --include for a part of it"
	case errors.Is(e.Is, errBracket):
		return "put the storage into the configuration of rclone, and name it as rclone:REMOTE:path"
	case errors.Is(e.Is, ErrUnreachable):
		return "check the network, the proxy, and the host or URL of the storage, which rclone config shows and changes"
	case errors.Is(e.Is, ErrCertificate):
		return certificateHint(e.Message)
	case errors.Is(e.Is, ErrPlainHTTP):
		return "correct the URL of the storage with rclone config: its port does not speak https"
	case e.auth:
		return "renew the credentials of the remote with rclone config reconnect REMOTE: or rclone config"
	case errors.Is(e.Is, ErrUndecryptable):
		return hintUndecryptable
	case errors.Is(e.Is, ErrEncrypted), errors.Is(e.Is, ErrWrongPassword), errors.Is(e.Is, ErrConfig):
		return configHint(e.Is)
	case e.kind == retry.Throttled:
		return "the storage limits requests: run the command again later, or set RCLONE_TPSLIMIT to fewer requests a second"
	case e.Command == describe:
		return "check the remote with rclone lsd REMOTE: or change it with rclone config"
	}
	return ""
}

// wrongPassword is what rclone says about content that it cannot decrypt.
const wrongPassword = "bad password?"

// hintUndecryptable is the next step after ErrUndecryptable.
const hintUndecryptable = "correct password and password2 of the encrypted remote with rclone config; if foreign files are in its storage, remove them, or omit them with RCLONE_CRYPT_STRICT_NAMES=false"

func certificateHint(message string) string {
	switch {
	case strings.Contains(message, "expired or is not yet valid"):
		return "check the clock of this machine, and the certificate of the storage"
	case strings.Contains(message, "certificate is valid for"), strings.Contains(message, "doesn't contain any IP SANs"):
		return "the certificate is for another host: correct the host or URL of the storage with rclone config"
	}
	return "if a private authority signed the certificate, set RCLONE_CA_CERT to a file with its certificates"
}

func configHint(err error) string {
	switch {
	case errors.Is(err, ErrEncrypted):
		return "set RCLONE_CONFIG_PASS to the password of the configuration"
	case errors.Is(err, ErrWrongPassword):
		return "correct the password in RCLONE_CONFIG_PASS, or the command in RCLONE_PASSWORD_COMMAND"
	}
	return "check the file and its permissions; rclone config file prints its path, and RCLONE_CONFIG sets it"
}

// An InterruptedError means that rclone ended, or the connection to it, during a call. The call can
// be repeated: the next one starts rclone again if needed.
type InterruptedError struct {
	Log  string // the last lines of its log, or that of the object; or ""
	Err  error
	Runs bool // rclone still runs: the storage did not send what it announced
}

func (e *InterruptedError) Error() string {
	if e.Runs {
		return "rclone did not send everything: " + cmp.Or(e.Log, e.Err.Error())
	}
	return "rclone ended during the request: " + cmp.Or(e.Log, e.Err.Error())
}

// Hint returns the next step, or "".
func (e *InterruptedError) Hint() string {
	if strings.Contains(e.Log, wrongPassword) {
		return hintUndecryptable
	}
	return ""
}

// Unwrap returns the error of the connection.
func (e *InterruptedError) Unwrap() error { return e.Err }

// Class implements retry.Classified.
func (e *InterruptedError) Class() retry.Class { return retry.Transient }

// A StartError means that rclone did not start, or was not started again.
type StartError struct {
	Path string
	Log  string // the last lines of its log, or ""
	Err  error
	Try  string // the next step, or ""
}

func (e *StartError) Error() string {
	s := e.Path + ": " + e.Err.Error()
	if e.Log != "" {
		s += ": " + e.Log
	}
	return s
}

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *StartError) Hint() string { return e.Try }

// IsAuth implements the interface of sources.IsAuth: the password of the configuration is missing or
// wrong.
func (e *StartError) IsAuth() bool {
	return errors.Is(e.Err, ErrEncrypted) || errors.Is(e.Err, ErrWrongPassword)
}

// Class implements retry.Classified: no other call succeeds either.
func (e *StartError) Class() retry.Class { return retry.Fatal }

// describe is the command that opens a storage. Its errors are mostly those of the settings.
const describe = "operations/fsinfo"

// maxErrorBody limits the memory for a response that reports an error.
const maxErrorBody = 64 << 10

// failure reads the response to a call that failed.
func failure(r *redact.Redactor, command string, hasPassword bool, res *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // a part is better than nothing
	var answer struct {
		Error  string `json:"error"`
		Status int    `json:"status"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error == "" {
		answer.Error = cmp.Or(strings.TrimSpace(string(body)), res.Status)
	}
	message := strings.Join(strings.Fields(clean(r, answer.Error)), " ")
	if len(message) > maxLine {
		message = message[:maxLine] + "..."
	}
	e := &Error{Command: command, Status: cmp.Or(answer.Status, res.StatusCode), Message: message}
	e.classify(hasPassword)
	return e
}

var (
	// refused are errors that concern all objects, and forbidden those that may concern one.
	refused     = pattern.Lazy(`(?i)invalid_grant|invalid_client|token (has )?(been )?(expired|revoked)|expired token|empty token|couldn't fetch token|InvalidAuthenticationToken|unauthori[sz]ed|\b401\b|unable to authenticate|authentication failed|InvalidAccessKeyId|SignatureDoesNotMatch|invalid credentials|incorrect password|login incorrect|\b530\b|STATUS_LOGON_FAILURE|AuthenticationFailed`)
	forbidden   = pattern.Lazy(`(?i)AccessDenied|access denied|permission denied|\b403\b|forbidden|AuthorizationFailure|AuthorizationPermissionMismatch`)
	rateLimited = pattern.Lazy(`(?i)\b429\b|userRateLimitExceeded|rateLimitExceeded|rate.?limit|too many requests|too_many_requests|activityLimitReached|SlowDown|quotaExceeded|\b503\b.*busy`)
	unreachable = pattern.Lazy(`(?i)no such host|connection refused|actively refused|no route to host|network is unreachable|unreachable (host|network)|dial tcp[^ ]* .*i/o timeout|server misbehaving`)
	// missingFile are the texts of rclone and of the systems behind its local and SFTP storages.
	missingFile = pattern.Lazy(`(?i)object not found|file does not exist|no such file or directory|cannot find the (file|path) specified`)
)

// names are the paths and URLs in a text. They contain the names of objects, such as "room 401.jpg".
var names = pattern.Lazy(`"[^"]*/[^"]*"|\b(?:open|l?stat|read|readdirent|fdopendir) (?:/|[A-Za-z]:\\)[^:]*|(?:^|\s)(?:\w+://|/)\S*`)

// classify derives the reason and the class from the text: rclone reports most errors with status
// 500.
func (e *Error) classify(hasPassword bool) {
	e.kind = retry.Transient
	text := names().ReplaceAllString(e.Message, "")
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("Failed to load config file"), has("failed to load config file"):
		e.kind, e.Is = retry.Fatal, configReason(e.Message, hasPassword)
	case has("didn't find section in config file"), has("didn't find backend called"):
		e.kind, e.Is = retry.Fatal, ErrUnknownRemote
	case has("undecryptable"), has(wrongPassword):
		e.kind, e.Is = retry.Permanent, ErrUndecryptable
	case has("directory not found"):
		e.kind, e.Is = retry.Permanent, ErrDirectoryNotFound
	case has("is a file not a directory"):
		e.kind, e.Is = retry.Permanent, ErrFile
	case has("is a directory not a file"):
		e.kind, e.Is = retry.Permanent, fs.ErrNotExist
	case missingFile().MatchString(text):
		e.kind, e.Is = retry.Permanent, fs.ErrNotExist
	case rateLimited().MatchString(text):
		e.kind = retry.Throttled
	case has("x509: "):
		e.kind, e.Is = retry.Fatal, ErrCertificate
	case has("server gave HTTP response to HTTPS client"):
		e.kind, e.Is = retry.Fatal, ErrPlainHTTP
	case unreachable().MatchString(text):
		e.Is = ErrUnreachable
	case refused().MatchString(text):
		e.kind, e.auth = retry.Fatal, true
	case forbidden().MatchString(text):
		e.kind, e.auth = retry.Permanent, true
	case e.Status == http.StatusBadRequest, e.Status == http.StatusNotFound:
		e.kind = retry.Permanent
	}
}

// configReason returns why the configuration was not loaded. Old versions report a wrong password
// like a missing one.
func configReason(message string, hasPassword bool) error {
	switch {
	case !strings.Contains(message, "decrypt") && !strings.Contains(message, "password"):
		return ErrConfig
	case hasPassword:
		return ErrWrongPassword
	}
	return ErrEncrypted
}
