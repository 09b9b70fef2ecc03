package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
)

// relayMode is the first argument of the helper process that is the baseline. It copies a bucket
// with the same libraries and the same number of workers. It records nothing, checks nothing and
// creates no folders.
const relayMode = "relay"

func relay(ctx context.Context, args []string) error {
	f := flag.NewFlagSet(relayMode, flag.ContinueOnError)
	source := f.String("s3", "", "")
	destination := f.String("service", "", "")
	workers := f.Int("workers", 32, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	transport := func() *http.Transport {
		return &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			MaxIdleConnsPerHost: *workers, WriteBufferSize: 64 << 10, ReadBufferSize: 16 << 10,
		}
	}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	client := s3.NewFromConfig(settings, func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle, o.HTTPClient = source, true, &http.Client{Transport: transport()}
	})
	keys := make(chan string, *workers)
	g, ctx := errgroup.WithContext(ctx)
	for range *workers {
		r := relayer{client, &http.Client{Transport: transport()}, *destination}
		g.Go(func() error {
			for key := range keys {
				if err := r.move(ctx, key); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(keys)
		return listKeys(ctx, client, keys)
	})
	return g.Wait()
}

// listKeys sends the keys of the bucket to a channel.
func listKeys(ctx context.Context, client *s3.Client, keys chan<- string) error {
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: aws.String(bucketName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, o := range page.Contents {
			select {
			case keys <- *o.Key:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// A relayer is a worker.
type relayer struct {
	source      *s3.Client
	destination *http.Client
	rawURL      string
}

func (r relayer) move(ctx context.Context, key string) error {
	object, err := r.source.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucketName), Key: &key})
	if err != nil {
		return err
	}
	defer object.Body.Close()
	const boundary = "a-boundary-of-some-length"
	head := fmt.Sprintf("--%[1]s\r\nContent-Disposition: form-data; name=\"categoryId\"\r\n\r\n%[2]s\r\n--%[1]s\r\n"+
		"Content-Disposition: form-data; name=\"file\"; filename=\"%[3]s\"\r\nContent-Type: application/octet-stream\r\n\r\n", boundary, theCategory, path.Base(key))
	tail := "\r\n--" + boundary + "--\r\n"
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, r.rawURL+"/assets",
		io.MultiReader(strings.NewReader(head), object.Body, strings.NewReader(tail)))
	if err != nil {
		return err
	}
	post.ContentLength = int64(len(head)) + *object.ContentLength + int64(len(tail))
	post.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	post.Header.Set("Authorization", strings.Repeat("x", 200))
	resp, err := r.destination.Do(post)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return err
}
