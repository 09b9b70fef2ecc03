package main

import (
	"bytes"
	"fmt"
)

// firstContact measures a plan whose objects all have an asset of the same name and size: with
// checksums of the source, without, and with other contents.
func (b *bench) firstContact() (rows []row, err error) {
	const large = 16 << 20
	const enough = large / 2 // the rest fits into the buffers of a connection on this machine
	for _, c := range []struct {
		library
		what string
		says string
		read int64 // maximum bytes from the source for each object
		sent int64 // and from the destination
	}{
		{library{objects: max(1, 10_000/b.scale), folders: 1, size: small, checksums: true}, "tags are checksums", "matched to existing assets", 0, small},
		{library{objects: max(1, 10_000/b.scale), folders: 1, size: small}, "tags are no checksums", "matched to existing assets", small, small},
		{library{objects: max(1, 200/b.scale), folders: 1, size: large}, "other contents", "in conflict", enough, enough},
	} {
		err := b.within(c.library, 0, func(w *world) error {
			w.service.remember()
			w.service.rememberFolder()
			w.service.altered.Store(c.says == "in conflict")
			u, output, err := w.assetferry("plan", w.source()...)
			if bytes.Contains(output, []byte(c.says)) {
				err = nil // conflicts are an error
			} else if err == nil {
				err = fmt.Errorf("the output lacks %q: %s", c.says, output)
			}
			n := int64(c.objects)
			read, sent := w.bucket.sent.Load(), w.service.sent.Load()
			rows = append(rows, row{
				figure: fmt.Sprintf("first contact, %d equal names, %d KiB each, %s", n, c.size/kib, c.what),
				measured: fmt.Sprintf("%s, %d requests and %s from the source, %d and %s from the destination", cost(u),
					w.bucket.gets.Load(), megabytes(read), w.service.requests.Load(), megabytes(sent)),
				goals: []goal{memoryWithin(u, 150), countWithin(read, n*c.read, "bytes from the source"), countWithin(sent, n*c.sent, "bytes from the destination")},
				took:  u,
			})
			return err
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
