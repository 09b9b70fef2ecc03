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
	"assetferry/internal/wordpress"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/sources/ckfinder"
	"assetferry/sources/local"
	"assetferry/sources/s3"
	"assetferry/sources/table"
)

// KindsOfSources is the hint for a missing or a wrong source.
const KindsOfSources = "a source is a directory, such as ./photos, a bucket, such as s3://bucket/prefix, a CKFinder connector, such as ckfinder+https://www.example.com/ckfinder/connector, a WordPress site, such as wordpress+https://www.example.com, another environment of the service, such as ckbox://production, an export of another asset manager, such as table:export.csv, or a remote of rclone, such as rclone:REMOTE:path"

// A kind of source is known by the prefix of its URL. A directory has none.
type kind struct {
	prefixes []string
	// name returns the name of the source in the state database; empty if only the service knows
	// it. Its error never contains the URL, which may contain a password.
	name func(url string) (string, error)
	hint string // the form of the URL
	open func(f *Factory, ctx context.Context, url string) (sources.Source, string, error)
}

func kinds() []kind {
	return []kind{
		{[]string{s3.Scheme + "://"}, bucketName, bucketHint, (*Factory).openBucket},
		{[]string{ckbox.Scheme + "://"}, nameOfNoWorkspace, workspaceHint, (*Factory).openWorkspace},
		{[]string{ckfinder.Schemes[0] + "://", ckfinder.Schemes[1] + "://"}, connectorName, connectorHint, (*Factory).openConnector},
		{[]string{wordpress.Schemes[0] + "://", wordpress.Schemes[1] + "://"}, siteName, siteHint, (*Factory).openSite},
		{[]string{table.Scheme + ":"}, TableName, tableHint, (*Factory).openTable},
		{[]string{rcloneScheme}, rcloneName, rcloneHint, (*Factory).openRclone},
	}
}

// kindOf returns the kind of a source by its URL.
func kindOf(url string) (kind, error) {
	for _, k := range kinds() {
		for _, prefix := range k.prefixes {
			if strings.HasPrefix(url, prefix) {
				return k, nil
			}
		}
	}
	scheme, _, _ := strings.Cut(url, "://") // the rest may contain a password
	return kind{}, fmt.Errorf("unknown kind of source %q", scheme)
}

// OpenSource opens a source, and returns its name in the state database. The source skips the paths
// to exclude.
func (f *Factory) OpenSource(ctx context.Context, url string, exclude []string) (sources.Source, string, error) {
	if url == "" {
		return nil, "", exit.Usage(errors.New("SOURCE is empty"), KindsOfSources+". For the current directory, write .")
	}
	if config.IsURL(url) {
		k, err := kindOf(url)
		if err != nil {
			return nil, "", exit.Usage(err, KindsOfSources)
		}
		return k.open(f, ctx, url)
	}
	links := local.Skip
	if f.Settings.Symlinks == "follow" {
		links = local.Follow
	}
	s, err := local.New(url, local.Options{Symlinks: links, Exclude: exclude, Marker: datadir.MarkerFile})
	if err != nil {
		return nil, "", err
	}
	return s, s.Identity(), nil
}

// CheckURL is an error for a URL that no source can have.
func CheckURL(url string) error {
	k, err := kindOf(url)
	if err == nil {
		_, err = k.name(url)
	}
	return err
}

// NameOf returns the name of a source in the state database; empty if only the service knows it.
func NameOf(source string) (string, error) {
	if !config.IsURL(source) {
		return filepath.Abs(source)
	}
	k, err := kindOf(source)
	if err != nil {
		return "", exit.Usage(err, KindsOfSources)
	}
	name, err := k.name(source)
	if err != nil {
		return "", badURL(err, k.hint)
	}
	return name, nil
}

// SourceName returns the name of a source in the state database, whether the source exists or not.
func (f *Factory) SourceName(ctx context.Context, source string) (string, error) {
	switch {
	case f.Settings.SourceName != "":
		return f.Settings.SourceName, nil
	case strings.HasPrefix(source, ckbox.Scheme+"://"):
		return f.workspaceName(ctx, source)
	}
	return NameOf(source)
}

func badURL(err error, hint string) error {
	return exit.Usage(fmt.Errorf("source: %w", err), hint)
}

const bucketHint = "write s3://bucket or s3://bucket/prefix (see assetferry help s3)"

// BadURL is the error of an invalid URL of a bucket.
func BadURL(err error) error {
	return badURL(err, bucketHint)
}

func bucketName(text string) (string, error) {
	url, err := s3.ParseURL(text)
	if err != nil {
		return "", err
	}
	return url.String(), nil
}

// openBucket opens a bucket. Region, profile and credentials come from the usual settings of AWS.
func (f *Factory) openBucket(ctx context.Context, text string) (sources.Source, string, error) {
	url, err := s3.ParseURL(text)
	if err != nil {
		return nil, "", BadURL(err)
	}
	o, err := f.BucketOptions()
	if err != nil {
		return nil, "", err
	}
	s, err := s3.New(ctx, url, o)
	if err != nil {
		return nil, "", err
	}
	f.CloseLater(func() error { s.CloseIdleConnections(); return nil })
	return s, s.Identity(), nil
}

// BucketOptions returns the access options of buckets.
func (f *Factory) BucketOptions() (o s3.Options, err error) {
	c := f.Settings
	o = s3.Options{Anonymous: c.S3Anonymous, RequesterPays: c.S3RequesterPays, Tags: c.S3Tags, AllowHTTP: c.AllowHTTP, Connections: migrate.Workers(c.Concurrency)}
	if o.Endpoint, err = c.S3Endpoint(); err != nil {
		return o, err
	}
	o.TLS, err = Trusting(c.CAFile)
	return o, err
}

// AddS3Flags adds the access options of buckets.
func AddS3Flags(f *pflag.FlagSet) {
	cmdline.Setting(f, "endpoint", "`URL` of an S3 service other than AWS")
	f.Bool("s3-anonymous", false, "read a public bucket without credentials")
	f.Bool("s3-requester-pays", false, "pay for requests to a requester-pays bucket")
	f.Bool("s3-tags", false, "also store object tags in the state database: one more request per upload")
}

// HasCompleteMetadata reports whether a source has [sources.Traits.Complete], by its URL alone.
func HasCompleteMetadata(source string) bool {
	return strings.HasPrefix(source, ckbox.Scheme+"://") || strings.HasPrefix(source, wordpress.Schemes[0]+"://") || strings.HasPrefix(source, wordpress.Schemes[1]+"://")
}

// Recognise returns a source as an export, if it is one.
func Recognise(ctx context.Context, s sources.Source) (sources.Source, error) {
	switch s.(type) {
	case *local.Source, *s3.Source:
		return export.Recognise(ctx, s)
	}
	return s, nil
}
