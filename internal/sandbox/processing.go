package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"sync"
	"time"

	"assetferry/internal/pixels"
	"assetferry/internal/sandbox/rendition"
	"assetferry/internal/sandbox/store"
)

// A processor processes images in the background, one at a time to limit memory. The queue is
// in the store, so a restart continues it.
type processor struct {
	stop  context.CancelFunc
	ended chan struct{} // closed at the end of the work
	woken chan struct{} // receives a value if work may be due

	mu   sync.Mutex
	step chan struct{} // closed after the next image
}

func (s *Server) startProcessing() {
	ctx, stop := context.WithCancel(context.Background())
	s.processor = &processor{
		stop: stop, ended: make(chan struct{}), woken: make(chan struct{}, 1), step: make(chan struct{}),
	}
	go func() {
		defer close(s.processor.ended)
		s.process(ctx)
	}()
}

// end cancels the work in progress, which stays queued.
func (p *processor) end() {
	p.stop()
	<-p.ended
}

// wake makes the processor check for work.
func (p *processor) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *processor) nextStep() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step
}

func (p *processor) signalStep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.step)
	p.step = make(chan struct{})
}

// Processed waits until no image is queued for processing or analysis. The processor checks the
// clock again, for tests that set [Options.Now].
func (s *Server) Processed(ctx context.Context) error {
	for {
		step := s.processor.nextStep()
		var queued bool
		err := s.store.Read(func(ses *store.Session) error {
			return ses.Row(`SELECT EXISTS (SELECT 1 FROM pictures WHERE state = 'queued')
				OR EXISTS (SELECT 1 FROM assets WHERE analysis = 'queued')`, nil, &queued)
		})
		if err != nil || !queued {
			return err
		}
		s.processor.wake()
		select {
		case <-step:
		case <-s.processor.ended:
			return store.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// broken is how long the processor waits after an error of the store.
const broken = 10 * time.Second

// process handles due work and waits for more.
func (s *Server) process(ctx context.Context) {
	for ctx.Err() == nil {
		wait, err := s.processNext(ctx)
		if err != nil && ctx.Err() == nil {
			s.options.Log.Error("image not processed", "error", err)
			wait = broken
		}
		if wait == 0 {
			s.processor.signalStep()
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.processor.woken:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// processNext handles one task. If none is due, it returns how long to wait.
func (s *Server) processNext(ctx context.Context) (wait time.Duration, err error) {
	const idle = 24 * time.Hour
	content, due, err := s.nextPicture()
	switch {
	case err == nil && !due.After(s.now()):
		return 0, s.processPicture(ctx, content)
	case err != nil && !errors.Is(err, store.ErrNotThere):
		return 0, err
	}
	wait = idle
	if err == nil {
		wait = due.Sub(s.now())
	}
	analysed, err := s.analyseNext(ctx)
	if analysed {
		wait = 0
	}
	return wait, err
}

// nextPicture returns the image that is due first.
func (s *Server) nextPicture() (content string, due time.Time, err error) {
	var ready int64
	err = s.store.Read(func(ses *store.Session) error {
		const first = "SELECT content, ready_at FROM pictures WHERE state = 'queued' ORDER BY ready_at LIMIT 1"
		return store.NotThere(ses.Row(first, nil, &content, &ready))
	})
	return content, store.FromMillis(ready), err
}

// processPicture decodes a complete image and stores its properties.
func (s *Server) processPicture(ctx context.Context, content string) error {
	state, hash := "success", ""
	p, release, err := s.decode(ctx, content, rendition.Cost)
	if err == nil {
		hash, err = p.BlurHash()
		p = rendition.Picture{} // before its memory is released
		release()
	}
	if errors.Is(err, pixels.ErrTooLarge) { // only for this machine: the image is not broken
		err = nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		state = "error"
		s.options.Log.Debug("image is broken", "content", content, "error", err)
	}
	return s.store.Write(func(ses *store.Session) error {
		_, err := ses.Exec("UPDATE pictures SET state = ?, blur_hash = ? WHERE content = ?", state, hash, content)
		return err
	})
}

// decode reads a complete image until the context ends. The caller holds its memory until
// release; the cost is its size.
func (s *Server) decode(ctx context.Context, name string, cost func(io.ReaderAt, int64) (int64, error)) (p rendition.Picture, release func(), err error) {
	file, err := s.contents.Open(name)
	if err != nil {
		return p, nil, fmt.Errorf("open image: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return p, nil, fmt.Errorf("open image: %w", err)
	}
	takes, err := cost(file, size)
	if err != nil {
		return p, nil, err
	}
	if release, err = pixels.Hold(ctx, takes); err != nil {
		return p, nil, fmt.Errorf("decode image: %w", err)
	}
	p, err = rendition.Decode(endingReader{file, ctx}, size, s.options.Limits.MaxPixels())
	if err != nil {
		release()
	}
	return p, release, err
}

// An endingReader ends with its context, so that decoders stop.
type endingReader struct {
	io.ReaderAt
	ctx context.Context
}

func (r endingReader) ReadAt(p []byte, at int64) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, at)
}

// convert generates a rendition of stored bytes. If it would need more memory than there is for
// images, it becomes smaller, see rendition.Within. It continues after the client has
// disconnected, because other clients request the same.
func (s *Server) convert(key rendition.Key) ([]byte, error) {
	side := key.Format.MaxSide()
	var box image.Point
	p, release, err := s.decode(context.Background(), key.Content, func(r io.ReaderAt, size int64) (cost int64, err error) {
		box, cost, err = rendition.Within(r, size, boundBy(key.Width, side), boundBy(key.Height, side), key.Format)
		return cost, err
	})
	if err != nil {
		return nil, err
	}
	defer release()
	var b bytes.Buffer
	m := p.Fit(box.X, box.Y)
	if err := rendition.Encode(&b, m, key.Format, key.Quality); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// boundBy returns the smaller of a bound and a limit; 0 means none.
func boundBy(bound, limit int) int {
	if bound == 0 {
		return limit
	}
	return min(bound, limit)
}
