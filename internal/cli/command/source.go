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
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/sources/local"
	"assetferry/sources/s3"
)

// kindsOfSources is what a person is told who names none of them.
const kindsOfSources = "a source is a directory, such as ./photos, a bucket, such as s3://bucket/prefix, a CKFinder connector, such as ckfinder+https://www.example.com/ckfinder/connector, another environment of the service, such as ckbox://production, or an export of another asset manager, such as table:export.csv"

// OpenSource opens the source at an address, and gives its name for the journal.
// What is in the paths to exclude is no part of it.
func (f *Factory) OpenSource(ctx context.Context, address string, exclude []string) (sources.Source, string, error) {
	if address == "" {
		return nil, "", exit.Usage(errors.New("SOURCE is empty"), kindsOfSources+"; for the current directory write .")
	}
	if path, ok := config.TableOf(address); ok {
		return f.openTable(ctx, path)
	}
	switch scheme, _, ok := strings.Cut(address, "://"); {
	case ok && scheme == s3.Scheme:
		return f.openBucket(ctx, address)
	case ok && scheme == ckbox.Scheme:
		return f.openWorkspace(ctx, address)
	case IsConnector(address):
		return f.openConnector(ctx, address)
	case ok: // the rest of it may hold a password
		return nil, "", exit.Usage(fmt.Errorf("there is no kind of source called %q", scheme), kindsOfSources)
	}
	links := local.Skip
	if f.Settings.Symlinks == "follow" {
		links = local.Follow
	}
	s, err := local.New(address, local.Options{Symlinks: links, Exclude: exclude, Marker: sandbox.MarkerFile})
	if err != nil {
		return nil, "", err
	}
	return s, s.Identity(), nil
}

// SourceName is what a source is called in the journal, whether it is there or not.
func (f *Factory) SourceName(ctx context.Context, source string) (string, error) {
	switch {
	case f.Settings.SourceName != "":
		return f.Settings.SourceName, nil
	case !config.IsAddress(source):
		return filepath.Abs(source)
	case IsTable(source):
		return TableName(source)
	case strings.HasPrefix(source, ckbox.Scheme+"://"):
		return f.workspaceName(ctx, source)
	case IsConnector(source):
		address, err := ParseConnector(source)
		if err != nil {
			return "", err
		}
		return address.String(), nil
	}
	address, err := s3.ParseAddress(source)
	if err != nil {
		return "", BadAddress(err)
	}
	return address.String(), nil
}

// BadAddress is the error of an address of a bucket that cannot be read.
func BadAddress(err error) error {
	return exit.Usage(fmt.Errorf("source: %w", err), "write s3://bucket or s3://bucket/prefix; assetferry help s3 tells the rest")
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
	cmdline.Setting(f, "endpoint", "base `address` of a service that speaks S3, if the bucket is not at AWS")
	f.Bool("s3-anonymous", false, "read a public bucket without credentials")
	f.Bool("s3-requester-pays", false, "pay for the requests if the owner of the bucket does not")
	f.Bool("s3-tags", false, "keep the tags of objects in the journal as well: one more request for each object that is sent")
}

// Recognise gives a source as an export if it is one, and can be.
func Recognise(ctx context.Context, s sources.Source) (sources.Source, error) {
	switch s.(type) {
	case *local.Source, *s3.Source:
		return export.Recognise(ctx, s)
	}
	return s, nil
}
