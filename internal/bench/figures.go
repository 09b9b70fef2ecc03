package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// figures lists all measurements, in the order of the table.
var figures = []figure{
	{"throughput", (*bench).throughput},
	{"latency 20 ms", func(b *bench) ([]row, error) { return b.underLatency(20 * time.Millisecond) }},
	{"latency 50 ms", func(b *bench) ([]row, error) { return b.underLatency(50 * time.Millisecond) }},
	{"plan", (*bench).plan},
	{"unchanged sync, 2,000 folders", func(b *bench) ([]row, error) { return b.quietSync(2000) }},
	{"unchanged sync, one folder", func(b *bench) ([]row, error) { return b.quietSync(1) }},
	{"first contact", (*bench).firstContact},
	{"flat memory", (*bench).flatMemory},
	{"resume", (*bench).resume},
	{"large asset", (*bench).largeAsset},
	{"state database", (*bench).statePath},
	{"start", (*bench).start},
	{"report, urls, status", (*bench).readers},
	{"verify, undo", (*bench).comparers},
	{"local directory", (*bench).localDirectory},
}

const (
	kib      = 1 << 10
	million  = 1_000_000
	small    = 20 * kib
	atOnce   = 32
	flagJobs = "--concurrency=32"
)

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func rate(objects int, d time.Duration) float64 { return float64(objects) / d.Seconds() }

// migrate runs a complete migration and checks the uploads.
func (w *world) migrate(args ...string) (usage, error) {
	u, _, err := w.assetferry("migrate", append(w.source(), args...)...)
	if err == nil {
		err = w.service.check(w.bucket.objects)
	}
	return u, err
}

// relay runs the baseline.
func (w *world) relay() (usage, error) {
	u, _, err := w.runWell(w.self, relayMode, "-s3", w.s3, "-service", w.service.url, "-workers", strconv.Itoa(atOnce))
	if err == nil {
		err = w.service.check(w.bucket.objects)
	}
	return u, err
}

// within runs a measurement in its own world.
func (b *bench) within(l library, latency time.Duration, f func(*world) error) error {
	w, err := b.newWorld(l, latency)
	if err != nil {
		return err
	}
	return errors.Join(f(w), w.close())
}

// throughput compares a migration with the baseline, which runs before and after it.
func (b *bench) throughput() ([]row, error) {
	l := library{objects: 50_000 / b.scale, folders: 50, size: small}
	var bare, bareAfter, ours usage
	relay := func(u *usage) func(*world) error {
		return func(w *world) (err error) { *u, err = w.relay(); return err }
	}
	if err := b.within(l, 0, relay(&bare)); err != nil {
		return nil, err
	}
	if err := b.within(l, 0, func(w *world) (err error) { ours, err = w.migrate(flagJobs); return err }); err != nil {
		return nil, err
	}
	if err := b.within(l, 0, relay(&bareAfter)); err != nil {
		return nil, err
	}
	base := (bare.Wall + bareAfter.Wall) / 2
	ratio := float64(base) / float64(ours.Wall)
	got := rate(l.objects, ours.Wall)
	return []row{{
		figure:   fmt.Sprintf("%d x 20 KiB from S3, whole run, %d at once", l.objects, atOnce),
		baseline: fmt.Sprintf("bare loop %.0f and %.0f assets/s, %s CPU", rate(l.objects, bare.Wall), rate(l.objects, bareAfter.Wall), seconds((bare.CPU+bareAfter.CPU)/2)),
		measured: fmt.Sprintf("%.0f assets/s, %.0f%%, %s CPU", got, 100*ratio, seconds(ours.CPU)),
		must:     "85%, 1,500 assets/s", ok: ratio >= .85 && got >= 1500, took: ours,
	}}, nil
}

// underLatency compares a migration with the maximum rate that the latency allows, at one request
// for each asset and the same number of workers.
func (b *bench) underLatency(latency time.Duration) ([]row, error) {
	l := library{objects: 50_000 / b.scale, folders: 50, size: small}
	few := library{objects: l.objects / 5, folders: 50, size: small}
	var bare, ours usage
	if err := b.within(few, latency, func(w *world) (err error) { bare, err = w.relay(); return err }); err != nil {
		return nil, err
	}
	if err := b.within(l, latency, func(w *world) (err error) { ours, err = w.migrate(flagJobs); return err }); err != nil {
		return nil, err
	}
	limit := float64(atOnce) / latency.Seconds()
	got := rate(l.objects, ours.Wall)
	return []row{{
		figure:   fmt.Sprintf("the same at %v per request, on both sides", latency),
		baseline: fmt.Sprintf("%d / %v = %.0f assets/s; bare loop %.0f", atOnce, latency, limit, rate(few.objects, bare.Wall)),
		measured: fmt.Sprintf("%.0f assets/s, %.0f%%", got, 100*got/limit),
		must:     "85%", ok: got >= .85*limit, took: ours,
	}}, nil
}

func (b *bench) plan() ([]row, error) {
	l := library{objects: million / b.scale, folders: 2000, size: small}
	var u usage
	var lists, requests int64
	var baseline string
	err := b.within(l, 0, func(w *world) (err error) {
		if u, _, err = w.assetferry("plan", w.source()...); err != nil {
			return err
		}
		lists, requests = w.bucket.lists.Load(), w.service.requests.Load()
		baseline, err = w.sync(emptyName)
		return err
	})
	return []row{{
		figure: fmt.Sprintf("plan of %d objects", l.objects), baseline: baseline,
		measured: fmt.Sprintf("%s, %s CPU, %d list requests, %d at the destination", seconds(u.Wall), seconds(u.CPU), lists, requests),
		must:     "40 s, 150 MB", ok: u.Wall <= 40*time.Second && u.RSS <= 150e6, took: u,
	}}, err
}

// knowing creates a state database with a finished run that uploaded everything.
func (w *world) knowing() (err error) {
	w.run, err = writeHistory(w.ctx, w.statePath, w.bucket.library, w.service.url)
	return err
}

// quietSync measures a sync without changes, with and without its share of the comparison of
// assets. The assets of the share are neighbours in the listings of the service, or far apart.
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
		rows = []row{{
			figure:   fmt.Sprintf("unchanged sync, %d objects, folders: %d", l.objects, folders),
			measured: fmt.Sprintf("%s, %s CPU, %d list requests, %d at the destination", seconds(u.Wall), seconds(u.CPU), lists, requests),
			must:     "25 s, 150 MB, 1,000 lists, 2 at the destination",
			ok:       u.Wall <= 25*time.Second && u.RSS <= 150e6 && lists <= 1000 && requests <= 2, took: u,
		}}
		w.service.remember()
		for _, order := range []string{"", ", in lists without order"} {
			w.service.unordered.Store(order != "")
			shared, err := w.driftShare(u, order)
			if err != nil {
				return err
			}
			rows = append(rows, shared)
		}
		rows[0].baseline, err = w.sync(copyName, "--size-only")
		return err
	})
	return rows, err
}

// driftShare measures a sync that compares its share of the assets, next to one without a share.
func (w *world) driftShare(without usage, order string) (row, error) {
	before := w.service.requests.Load()
	u, _, err := w.assetferry("sync", w.source()...)
	compared := w.service.requests.Load() - before
	if err == nil && w.service.uploads.Load() > 0 {
		err = errors.New("the sync uploaded something")
	}
	return row{
		figure:   fmt.Sprintf("the same with 1/30 of the assets compared, folders: %d%s", w.bucket.folders, order),
		measured: fmt.Sprintf("%s, %s CPU, %d requests at the destination", seconds(u.Wall), seconds(u.CPU), compared),
		must:     "1.5 x the time, 2,100 requests, 150 MB", ok: u.Wall <= without.Wall*3/2 && compared <= 2100 && u.RSS <= 150e6, took: u,
	}, err
}

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
		{library{objects: 10_000 / b.scale, folders: 1, size: small, checksums: true}, "tags are checksums", "matched to existing assets", 0, small},
		{library{objects: 10_000 / b.scale, folders: 1, size: small}, "tags are no checksums", "matched to existing assets", small, small},
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
			rows = append(rows, row{
				figure: fmt.Sprintf("first contact, %d equal names, %d KiB each, %s", n, c.size/kib, c.what),
				measured: fmt.Sprintf("%s, %s CPU, %d requests and %s from the source, %d and %s from the destination", seconds(u.Wall), seconds(u.CPU),
					w.bucket.gets.Load(), megabytes(w.bucket.sent.Load()), w.service.requests.Load(), megabytes(w.service.sent.Load())),
				must: "150 MB", ok: u.RSS <= 150e6 && w.bucket.sent.Load() <= n*c.read && w.service.sent.Load() <= n*c.sent, took: u,
			})
			return err
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// flatMemory compares the peak memory of a plan and of an unchanged sync at three sizes.
func (b *bench) flatMemory() (rows []row, err error) {
	sizes := []int{100_000 / b.scale, million / b.scale, 5 * million / b.scale}
	var plans, days []int64
	for _, n := range sizes {
		l := library{objects: n, folders: 2000, size: small}
		err := b.within(l, 0, func(w *world) error {
			u, _, err := w.assetferry("plan", w.source()...)
			plans = append(plans, u.RSS)
			return err
		})
		if err != nil {
			return rows, err
		}
		err = b.within(l, 0, func(w *world) error {
			if err := w.knowing(); err != nil {
				return err
			}
			u, _, err := w.assetferry("sync", append(w.source(), "--drift-share", "0")...)
			days = append(days, u.RSS)
			return err
		})
		if err != nil {
			return rows, err
		}
	}
	for _, of := range []struct {
		what  string
		peaks []int64
	}{{"plan", plans}, {"unchanged sync", days}} {
		ratio := float64(of.peaks[2]) / float64(of.peaks[0])
		rows = append(rows, row{
			figure:   fmt.Sprintf("RSS of a %s at %v objects", of.what, sizes),
			baseline: megabytes(of.peaks[0]), measured: fmt.Sprintf("%s, %s: %.2f x", megabytes(of.peaks[1]), megabytes(of.peaks[2]), ratio),
			must: "1.2 x", ok: ratio <= 1.2, took: usage{RSS: of.peaks[2]},
		})
	}
	return rows, nil
}

// resume kills a run half-way and resumes it.
func (b *bench) resume() ([]row, error) {
	l := library{objects: max(2000, 100_000/b.scale), folders: 50, size: 1 * kib} // fewer would end before the kill
	total := func(w *world) int64 { return w.bucket.lists.Load() + w.bucket.gets.Load() + w.service.requests.Load() }
	var whole, cut int64
	var first time.Duration
	var u usage
	if err := b.within(l, 0, func(w *world) error {
		_, err := w.migrate(flagJobs)
		whole = total(w)
		return err
	}); err != nil {
		return nil, err
	}
	err := b.within(l, 0, func(w *world) error {
		c := w.command(w.program, append(append([]string{"migrate"}, w.source()...), flagJobs)...)
		refuse := w.service.holdAfter(l.objects / 2)
		if err := c.Start(); err != nil {
			return err
		}
		for w.service.uploads.Load() < int64(l.objects/2) && b.ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		_ = c.Process.Kill() // it may have failed already, which the check reports
		_ = c.Wait()
		refuse()
		w.service.upload.reset()
		began := time.Now()
		var err error
		u, err = w.migrate(flagJobs, "--confirm-timeout=2s")
		if at := w.service.upload.at.Load(); at != nil {
			first = at.Sub(began)
		} else {
			err = errors.Join(err, errors.New("the first run uploaded everything before the kill"))
		}
		cut = total(w)
		return err
	})
	ratio := float64(cut) / float64(whole)
	return []row{{
		figure:   fmt.Sprintf("resume at half of %d, killed", l.objects),
		baseline: fmt.Sprintf("%d requests without the kill", whole),
		measured: fmt.Sprintf("first upload after %s; %d requests, %.4f x", seconds(first), cut, ratio),
		must:     "2 s, 1.01 x", ok: first <= 2*time.Second && ratio <= 1.01, took: u,
	}}, err
}

// largeAsset compares a large object with a small one.
func (b *bench) largeAsset() ([]row, error) {
	peak := func(size int64) (u usage, err error) {
		err = b.within(library{objects: 1, folders: 1, size: size}, 0, func(w *world) (err error) { u, err = w.migrate(); return err })
		return u, err
	}
	idle, err := peak(small)
	if err != nil {
		return nil, err
	}
	size := int64(5e9) / int64(b.scale)
	u, err := peak(size)
	more := u.RSS - idle.RSS
	return []row{{
		figure: fmt.Sprintf("one asset of %.1f GB", float64(size)/1e9), baseline: megabytes(idle.RSS) + " with one of 20 KiB",
		measured: fmt.Sprintf("%s more; %s, %.0f MB/s", megabytes(more), seconds(u.Wall), float64(size)/1e6/u.Wall.Seconds()),
		must:     "64 MB more", ok: more <= 64e6, took: u,
	}}, err
}

// syncsIn matches the lines of strace -c for sync calls: percentage of the time, seconds,
// microseconds per call, number of calls, and number of errors.
var syncsIn = regexp.MustCompile(`(?m)^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)(?:\s+\d+)?\s+f(?:data)?sync$`)

// statePath measures the space that an asset takes in the state database, and the number of calls
// that wait for the disk.
func (b *bench) statePath() ([]row, error) {
	l := library{objects: 20_000 / b.scale, folders: 50, size: small}
	var size int64
	var u usage
	syncs := -1
	err := b.within(l, 0, func(w *world) error {
		trace, err := exec.LookPath("strace")
		if err != nil {
			u, err = w.migrate()
			size = w.stateSize()
			return err
		}
		log := filepath.Join(w.home.dir, "trace")
		args := append([]string{"-f", "-c", "-e", "trace=fsync,fdatasync", "-o", log, w.program, "migrate"}, w.source()...)
		if _, _, err := w.runWell(trace, args...); err != nil {
			return err
		}
		size = w.stateSize()
		text, err := os.ReadFile(log)
		syncs = 0
		for _, m := range syncsIn.FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			syncs += n
		}
		return errors.Join(err, w.service.check(l.objects))
	})
	each := float64(size) / float64(l.objects)
	thousand := float64(syncs) * 1000 / float64(l.objects)
	measured := fmt.Sprintf("%.0f bytes, %.1f syncs per 1,000", each, thousand)
	if syncs < 0 {
		measured = fmt.Sprintf("%.0f bytes; counting syncs needs strace", each)
	}
	return []row{{
		figure:   fmt.Sprintf("state database after %d assets with keys of %d bytes", l.objects, len(l.key(0))),
		baseline: "", measured: measured, must: "600 bytes, 20 syncs", ok: each <= 600 && syncs >= 0 && thousand <= 20, took: u,
	}}, err
}

// start measures the time from the start of the process to its first request. It returns the best
// of several runs.
func (b *bench) start() ([]row, error) {
	l := library{objects: 10, folders: 1, size: small}
	var best, version time.Duration
	err := b.within(l, 0, func(w *world) error {
		if _, err := w.migrate(); err != nil {
			return err
		}
		for range 10 {
			took, err := w.untilFirstRequest()
			if err != nil {
				return err
			}
			if best == 0 || took < best {
				best = took
			}
			began := time.Now()
			if err := w.command(w.program, "version").Run(); err != nil {
				return err
			}
			if took := time.Since(began); version == 0 || took < version {
				version = took
			}
		}
		return nil
	})
	return []row{{
		figure: "process start to first request", baseline: fmt.Sprintf("%d ms for version", version.Milliseconds()),
		measured: fmt.Sprintf("%d ms", best.Milliseconds()), must: "100 ms", ok: best <= 100*time.Millisecond,
	}}, err
}

// untilFirstRequest returns the time until a migration sends its first request, to the service or
// to the bucket.
func (w *world) untilFirstRequest() (time.Duration, error) {
	w.service.first.reset()
	w.bucket.first.reset()
	began := time.Now()
	if out, err := w.command(w.program, append([]string{"migrate"}, w.source()...)...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	first := *w.service.first.at.Load()
	if at := w.bucket.first.at.Load(); at.Before(first) {
		first = *at
	}
	return first.Sub(began), nil
}

// readers measures the commands that only read the state database.
func (b *bench) readers() (rows []row, err error) {
	l := library{objects: million / b.scale, folders: 2000, size: small}
	err = b.within(l, 0, func(w *world) error {
		if err := w.knowing(); err != nil {
			return err
		}
		for _, c := range []struct {
			command string
			args    []string
			must    time.Duration
		}{
			{"report", nil, 10 * time.Second},
			{"report", []string{"--format", "csv", "--output", "report.csv"}, 10 * time.Second},
			{"report", []string{"--format", "html", "--output", "report.html"}, 10 * time.Second},
			{"report", []string{"--split-by", "folder", "--format", "csv", "--output", "reports"}, 10 * time.Second},
			{"urls", []string{"--output", "urls.tsv"}, 5 * time.Second},
			{"urls", []string{"--format", "nginx", "--output", "urls.conf"}, 5 * time.Second},
			{"status", nil, 200 * time.Millisecond},
			{"runs", nil, 200 * time.Millisecond},
		} {
			u, _, err := w.assetferry(c.command, c.args...)
			if err != nil {
				return err
			}
			rows = append(rows, row{
				figure: fmt.Sprintf("%s, %d items", strings.Join(append([]string{c.command}, c.args...), " "), l.objects), measured: fmt.Sprintf("%s, %s CPU", seconds(u.Wall), seconds(u.CPU)),
				must: fmt.Sprintf("%v, 150 MB", c.must), ok: u.Wall <= c.must && u.RSS <= 150e6, took: u,
			})
		}
		return nil
	})
	return rows, err
}

// comparers measures the commands that compare the state database with all assets at the
// destination.
func (b *bench) comparers() (rows []row, err error) {
	l := library{objects: million / b.scale, folders: 2000, size: small}
	err = b.within(l, 0, func(w *world) error {
		if err := w.knowing(); err != nil {
			return err
		}
		w.service.remember()
		for _, c := range []struct {
			command string
			args    []string
			says    string
		}{
			{"verify", nil, "no difference"},
			{"undo", []string{"--run", w.run}, "assets would be trashed"},
		} {
			u, output, err := w.assetferry(c.command, append(c.args, "--quiet")...)
			if err != nil {
				return err
			}
			if !bytes.Contains(output, []byte(c.says)) {
				return fmt.Errorf("%s: the output lacks %q: %s", c.command, c.says, output)
			}
			rows = append(rows, row{
				figure: fmt.Sprintf("%s, %d assets", c.command, l.objects), measured: fmt.Sprintf("%s, %s CPU", seconds(u.Wall), seconds(u.CPU)),
				must: "150 MB", ok: u.RSS <= 150e6, took: u,
			})
		}
		return nil
	})
	return rows, err
}

// localDirectory measures the listing of a large directory and a plan for it.
func (b *bench) localDirectory() (rows []row, err error) {
	l := library{objects: million / b.scale, folders: 1}
	err = b.within(l, 0, func(w *world) error {
		dir := filepath.Join(w.home.dir, "photos")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		for n := range l.objects {
			if err := os.WriteFile(filepath.Join(dir, path.Base(l.key(n))), nil, 0o600); err != nil {
				return err
			}
		}
		bare, _, err := w.runWell(w.self, listMode, "bare", dir)
		if err != nil {
			return err
		}
		u, _, err := w.runWell(w.self, listMode, "source", dir)
		if err != nil {
			return err
		}
		plan, _, err := w.assetferry("plan", dir, "--quiet")
		rows = []row{{
			figure:   fmt.Sprintf("local source, one directory of %d files", l.objects),
			baseline: fmt.Sprintf("%s, %s for os.ReadDir", seconds(bare.Wall), megabytes(bare.RSS)),
			measured: fmt.Sprintf("%s, %s CPU", seconds(u.Wall), seconds(u.CPU)),
			must:     "15 s, 300 MB", ok: u.Wall <= 15*time.Second && u.RSS <= 300e6, took: u,
		}, {
			figure:   "a full plan of this directory",
			measured: fmt.Sprintf("%s, %s CPU", seconds(plan.Wall), seconds(plan.CPU)),
			must:     "300 MB", ok: plan.RSS <= 300e6, took: plan,
		}}
		return err
	})
	return rows, err
}
