package main

import (
	"errors"
	"fmt"
	"time"
)

// plan compares a plan that creates everything with a dry run of the peer.
func (b *bench) plan() ([]row, error) {
	l := library{objects: million / b.scale, folders: 2000, size: small}
	var u usage
	var lists, requests int64
	var theirs peerRun
	err := b.within(l, 0, func(w *world) (err error) {
		if u, _, err = w.assetferry("plan", w.source()...); err != nil {
			return err
		}
		lists, requests = w.bucket.lists.Load(), w.service.requests.Load()
		theirs, err = w.rclone("sync", "--dry-run", remote(w.s3, bucketName), remote(w.s3, emptyName), fastList)
		return err
	})
	return []row{{
		figure: fmt.Sprintf("plan of %d objects", l.objects), baseline: theirs.text,
		measured: fmt.Sprintf("%s, %d list requests, %d at the destination", cost(u), lists, requests),
		goals:    []goal{theirs.wall(u, 1), theirs.cpu(u), memoryWithin(u, 110)}, took: u,
	}}, err
}

// sidecars measures a plan of images that all have a sidecar.
func (b *bench) sidecars() ([]row, error) {
	l := library{objects: 600_000 / b.scale, folders: 2000, size: small, sidecars: true}
	var u usage
	var lists, gets int64
	err := b.within(l, 0, func(w *world) (err error) {
		u, err = w.prints("plan", fmt.Sprintf("%d of %d objects would be created", l.objects/2, l.objects), w.source()...)
		lists, gets = w.bucket.lists.Load(), w.bucket.gets.Load()
		return err
	})
	return []row{{
		figure:   fmt.Sprintf("plan of %d images with sidecars", l.objects/2),
		measured: fmt.Sprintf("%s, %d list requests, %d objects read", cost(u), lists, gets),
		goals:    []goal{atMost(u.CPU, 6*time.Second, "6s CPU"), memoryWithin(u, 150)}, took: u,
	}}, err
}

// knowing creates a state database with a finished run that uploaded everything.
func (w *world) knowing() (err error) {
	w.run, err = writeHistory(w.ctx, w.statePath, w.bucket.library, w.service.url)
	return err
}

// quietSync measures a sync without changes, with and without its share of the comparison of
// assets.
func (b *bench) quietSync(folders int) (rows []row, err error) {
	l := library{objects: million / b.scale, folders: folders, size: small}
	err = b.within(l, 0, func(w *world) error {
		if err := w.knowing(); err != nil {
			return err
		}
		u, _, err := w.assetferry("sync", append(w.source(), "--drift-share", "0")...)
		if err != nil {
			return err
		}
		lists, requests := w.bucket.lists.Load(), w.service.requests.Load()
		w.service.remember()
		for _, order := range []string{"", ", in lists without order"} {
			w.service.unordered.Store(order != "")
			shared, err := w.driftShare(u, order)
			if err != nil {
				return err
			}
			rows = append(rows, shared)
		}
		theirs, err := w.rclone("sync", "--dry-run", "--size-only", remote(w.s3, bucketName), remote(w.s3, copyName), fastList)
		rows = append([]row{{
			figure: fmt.Sprintf("unchanged sync, %d objects, folders: %d", l.objects, folders), baseline: theirs.text,
			measured: fmt.Sprintf("%s, %d list requests, %d at the destination", cost(u), lists, requests),
			goals: []goal{theirs.wall(u, .4), memoryWithin(u, 90), countWithin(lists, 1000, "lists"),
				countWithin(requests, 1, "at the destination")}, took: u,
		}}, rows...)
		return err
	})
	return rows, err
}

// driftShare measures a sync that compares its share of the assets, next to one without a share.
// The assets of the share are neighbours in the listings of the service, or far apart.
func (w *world) driftShare(without usage, order string) (row, error) {
	before := w.service.requests.Load()
	u, _, err := w.assetferry("sync", w.source()...)
	compared := w.service.requests.Load() - before
	if err == nil && w.service.uploads.Load() > 0 {
		err = errors.New("the sync uploaded something")
	}
	goals := []goal{memoryWithin(u, 150)}
	if w.bucket.folders == 1 {
		goals = append(goals, atMost(u.Wall, without.Wall*3/2, "1.5 x the time of the unchanged sync"), countWithin(compared, 2100, "requests"))
	}
	return row{
		figure:   fmt.Sprintf("the same with 1/30 of the assets compared, folders: %d%s", w.bucket.folders, order),
		measured: fmt.Sprintf("%s, %d requests at the destination", cost(u), compared),
		goals:    goals, took: u,
	}, err
}
