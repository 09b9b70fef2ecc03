package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/config"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/sources/local"
	"assetferry/sources/s3"
)

// kindsOfSources is what a person is told who names none of them.
const kindsOfSources = "a source is a directory, such as ./photos, a bucket, such as s3://bucket/prefix, a CKFinder connector, such as ckfinder+https://www.example.com/ckfinder/connector, another environment of the service, such as ckbox://production, or an export of another asset manager, such as table:export.csv"

// openSource opens the source at an address, and gives its name for the journal.
// What is in the paths to exclude is no part of it.
func (a *app) openSource(ctx context.Context, address string, exclude []string) (sources.Source, string, error) {
	if address == "" {
		return nil, "", usage(errors.New("SOURCE is empty"), kindsOfSources+"; for the current directory write .")
	}
	if path, ok := config.TableOf(address); ok {
		return a.openTable(ctx, path)
	}
	switch scheme, _, ok := strings.Cut(address, "://"); {
	case ok && scheme == s3.Scheme:
		return a.openBucket(ctx, address)
	case ok && scheme == ckbox.Scheme:
		return a.openWorkspace(ctx, address)
	case isConnector(address):
		return a.openConnector(ctx, address)
	case ok: // the rest of it may hold a password
		return nil, "", usage(fmt.Errorf("there is no kind of source called %q", scheme), kindsOfSources)
	}
	links := local.Skip
	if a.settings.Symlinks == "follow" {
		links = local.Follow
	}
	s, err := local.New(address, local.Options{Symlinks: links, Exclude: exclude, Marker: sandbox.MarkerFile})
	if err != nil {
		return nil, "", err
	}
	return s, s.Identity(), nil
}

// sourceName is what a source is called in the journal, whether it is there or not.
func (a *app) sourceName(ctx context.Context, source string) (string, error) {
	switch {
	case a.settings.SourceName != "":
		return a.settings.SourceName, nil
	case !config.IsAddress(source):
		return filepath.Abs(source)
	case isTable(source):
		return tableName(source)
	case strings.HasPrefix(source, ckbox.Scheme+"://"):
		return a.workspaceName(ctx, source)
	case isConnector(source):
		address, err := parseConnector(source)
		if err != nil {
			return "", err
		}
		return address.String(), nil
	}
	address, err := s3.ParseAddress(source)
	if err != nil {
		return "", badAddress(err)
	}
	return address.String(), nil
}

func badAddress(err error) error {
	return usage(fmt.Errorf("source: %w", err), "write s3://bucket or s3://bucket/prefix; assetferry help s3 tells the rest")
}

// openBucket opens a source in S3. Region, profile and credentials come the way AWS
// has them.
func (a *app) openBucket(ctx context.Context, text string) (sources.Source, string, error) {
	address, err := s3.ParseAddress(text)
	if err != nil {
		return nil, "", badAddress(err)
	}
	o, err := a.bucketOptions()
	if err != nil {
		return nil, "", err
	}
	s, err := s3.New(ctx, address, o)
	if err != nil {
		return nil, "", err
	}
	a.closeLater(func() error { s.CloseIdleConnections(); return nil })
	return s, s.Identity(), nil
}

// bucketOptions say how buckets are reached.
func (a *app) bucketOptions() (o s3.Options, err error) {
	c := a.settings
	o = s3.Options{Anonymous: c.S3Anonymous, RequesterPays: c.S3RequesterPays, Tags: c.S3Tags, AllowHTTP: c.AllowHTTP, Connections: migrate.Workers(c.Concurrency)}
	if o.Endpoint, err = c.S3Endpoint(); err != nil {
		return o, err
	}
	o.TLS, err = trusting(c.CAFile)
	return o, err
}

// addS3Flags adds how a bucket is reached.
func addS3Flags(f *pflag.FlagSet) {
	setting(f, "endpoint", "base `address` of a service that speaks S3, if the bucket is not at AWS")
	f.Bool("s3-anonymous", false, "read a public bucket without credentials")
	f.Bool("s3-requester-pays", false, "pay for the requests if the owner of the bucket does not")
	f.Bool("s3-tags", false, "keep the tags of objects in the journal as well: one more request for each object that is sent")
}
