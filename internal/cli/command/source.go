package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/export"
	"assetferry/internal/sandbox/datadir"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/sources/ckfinder"
	"assetferry/sources/local"
	"assetferry/sources/s3"
	"assetferry/sources/table"
)

// KindsOfSources is what a person is told who names none of them, or an address that is wrong.
const KindsOfSources = "a source is a directory, such as ./photos, a bucket, such as s3://bucket/prefix, a CKFinder connector, such as ckfinder+https://www.example.com/ckfinder/connector, another environment of the service, such as ckbox://production, or an export of another asset manager, such as table:export.csv"

// A kind of source is told by how its address begins. A directory has none.
type kind struct {
	prefixes []string
	// name reads an address, and gives what it is called in the journal; empty where only the
	// service tells that. Its error does not repeat the address, which may hold a password.
	name func(address string) (string, error)
	hint string // how to write the address
	open func(f *Factory, ctx context.Context, address string) (sources.Source, string, error)
}

func kinds() []kind {
	return []kind{
		{[]string{s3.Scheme + "://"}, bucketName, bucketHint, (*Factory).openBucket},
		{[]string{ckbox.Scheme + "://"}, nameOfNoWorkspace, workspaceHint, (*Factory).openWorkspace},
		{[]string{ckfinder.Schemes[0] + "://", ckfinder.Schemes[1] + "://"}, connectorName, connectorHint, (*Factory).openConnector},
		{[]string{table.Scheme + ":"}, TableName, tableHint, (*Factory).openTable},
	}
}

// kindOf is the kind of source at an address.
func kindOf(address string) (kind, error) {
	for _, k := range kinds() {
		for _, prefix := range k.prefixes {
			if strings.HasPrefix(address, prefix) {
				return k, nil
			}
		}
	}
	scheme, _, _ := strings.Cut(address, "://") // the rest of it may hold a password
	return kind{}, fmt.Errorf("there is no kind of source called %q", scheme)
}

// OpenSource opens the source at an address, and gives its name for the journal.
// What is in the paths to exclude is no part of it.
func (f *Factory) OpenSource(ctx context.Context, address string, exclude []string) (sources.Source, string, error) {
	if address == "" {
		return nil, "", exit.Usage(errors.New("SOURCE is empty"), KindsOfSources+"; for the current directory write .")
	}
	if config.IsAddress(address) {
		k, err := kindOf(address)
		if err != nil {
			return nil, "", exit.Usage(err, KindsOfSources)
		}
		return k.open(f, ctx, address)
	}
	links := local.Skip
	if f.Settings.Symlinks == "follow" {
		links = local.Follow
	}
	s, err := local.New(address, local.Options{Symlinks: links, Exclude: exclude, Marker: datadir.MarkerFile})
	if err != nil {
		return nil, "", err
	}
	return s, s.Identity(), nil
}

// CheckAddress refuses an address that no source can have.
func CheckAddress(address string) error {
	k, err := kindOf(address)
	if err == nil {
		_, err = k.name(address)
	}
	return err
}

// NameOf is what a source is called in the journal, as far as its address tells that: empty
// where only the service does.
func NameOf(source string) (string, error) {
	if !config.IsAddress(source) {
		return filepath.Abs(source)
	}
	k, err := kindOf(source)
	if err != nil {
		return "", exit.Usage(err, KindsOfSources)
	}
	name, err := k.name(source)
	if err != nil {
		return "", badAddress(err, k.hint)
	}
	return name, nil
}

// SourceName is what a source is called in the journal, whether it is there or not.
func (f *Factory) SourceName(ctx context.Context, source string) (string, error) {
	switch {
	case f.Settings.SourceName != "":
		return f.Settings.SourceName, nil
	case strings.HasPrefix(source, ckbox.Scheme+"://"):
		return f.workspaceName(ctx, source)
	}
	return NameOf(source)
}

func badAddress(err error, hint string) error {
	return exit.Usage(fmt.Errorf("source: %w", err), hint)
}

const bucketHint = "write s3://bucket or s3://bucket/prefix; assetferry help s3 tells the rest"

// BadAddress is the error of an address of a bucket that cannot be read.
func BadAddress(err error) error {
	return badAddress(err, bucketHint)
}

func bucketName(text string) (string, error) {
	address, err := s3.ParseAddress(text)
	if err != nil {
		return "", err
	}
	return address.String(), nil
}

// openBucket opens a source in S3. Region, profile and credentials come the way AWS
// has them.
func (f *Factory) openBucket(ctx context.Context, text string) (sources.Source, string, error) {
	address, err := s3.ParseAddress(text)
	if err != nil {
		return nil, "", BadAddress(err)
	}
	o, err := f.BucketOptions()
	if err != nil {
		return nil, "", err
	}
	s, err := s3.New(ctx, address, o)
	if err != nil {
		return nil, "", err
	}
	f.CloseLater(func() error { s.CloseIdleConnections(); return nil })
	return s, s.Identity(), nil
}

// BucketOptions say how buckets are reached.
func (f *Factory) BucketOptions() (o s3.Options, err error) {
	c := f.Settings
	o = s3.Options{Anonymous: c.S3Anonymous, RequesterPays: c.S3RequesterPays, Tags: c.S3Tags, AllowHTTP: c.AllowHTTP, Connections: migrate.Workers(c.Concurrency)}
	if o.Endpoint, err = c.S3Endpoint(); err != nil {
		return o, err
	}
	o.TLS, err = Trusting(c.CAFile)
	return o, err
}

// AddS3Flags adds how a bucket is reached.
func AddS3Flags(f *pflag.FlagSet) {
	cmdline.Setting(f, "endpoint", "`URL` of an S3 service other than AWS")
	f.Bool("s3-anonymous", false, "read a public bucket without credentials")
	f.Bool("s3-requester-pays", false, "pay for requests to a requester-pays bucket")
	f.Bool("s3-tags", false, "also store object tags in the state database: one more request per upload")
}

// Recognise gives a source as an export if it is one, and can be.
func Recognise(ctx context.Context, s sources.Source) (sources.Source, error) {
	switch s.(type) {
	case *local.Source, *s3.Source:
		return export.Recognise(ctx, s)
	}
	return s, nil
}
