package rclone

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
)

// An Info describes a storage: what operations/fsinfo returns.
type Info struct {
	Name      string
	Root      string
	String    string          // for people
	Features  map[string]bool // such as "ListR", "SlowHash", "SlowModTime", "BucketBased", "DuplicateFiles"
	Hashes    []string        // such as "md5", "sha1", "quickxor"
	Precision int64           // of modification times, in nanoseconds

	MetadataInfo *MetadataInfo // nil if the version or the storage has no metadata
}

// A MetadataInfo describes the metadata of a storage.
type MetadataInfo struct {
	System map[string]MetadataField
	Help   string
}

// A MetadataField is a field that a storage defines.
type MetadataField struct {
	Help, Type, Example string
	ReadOnly            bool
}

// noTimes is the precision of storages without modification times.
const noTimes = int64(100 * 365 * 24 * 3600 * 1e9)

// HasTimes reports whether the storage has modification times.
func (i Info) HasTimes() bool { return i.Precision < noTimes }

// Info returns the description of a storage, such as "drive:photos". It is an error if the storage
// does not answer.
func (s *Server) Info(ctx context.Context, fs string) (Info, error) {
	var info Info
	err := s.decode(ctx, describe, map[string]string{"fs": fs}, &info)
	return info, err
}

// Remotes returns the names of the remotes in the configuration of rclone, sorted.
func (s *Server) Remotes(ctx context.Context) ([]string, error) {
	var list struct {
		Remotes []string `json:"remotes"`
	}
	err := s.decode(ctx, "config/listremotes", nil, &list)
	for i, name := range list.Remotes {
		list.Remotes[i] = strings.TrimSuffix(name, ":")
	}
	slices.Sort(list.Remotes)
	return list.Remotes, err
}

// A Memory is the memory of rclone, in bytes.
type Memory struct {
	Heap     int64 // in use
	System   int64 // obtained from the system
	Resident int64 // 0 if the system does not report it
	Peak     int64 // the largest Resident so far; 0 if the system does not report it
}

// Most returns the peak, or what comes close to it.
func (m Memory) Most() int64 {
	if m.Peak > 0 {
		return m.Peak
	}
	return m.System
}

// OwnMemory returns the memory of this process.
func OwnMemory() Memory {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m := Memory{Heap: int64(stats.HeapAlloc), System: int64(stats.Sys)}
	m.Resident, m.Peak = residentMemory(os.Getpid())
	return m
}

// Memory returns the memory that rclone uses.
func (s *Server) Memory(ctx context.Context) (Memory, error) {
	var stats struct{ HeapAlloc, Sys int64 }
	if err := s.decode(ctx, "core/memstats", nil, &stats); err != nil {
		return Memory{}, err
	}
	m := Memory{Heap: stats.HeapAlloc, System: stats.Sys}
	pid, err := s.PID(ctx)
	if err != nil {
		return m, err
	}
	m.Resident, m.Peak = residentMemory(pid)
	return m, nil
}

// PID returns the process ID of rclone, for measurements and tests.
func (s *Server) PID(ctx context.Context) (int, error) {
	var answer struct{ PID int }
	err := s.decode(ctx, "core/pid", nil, &answer)
	return answer.PID, err
}

// maxAnswer limits the memory for the responses that are decoded at once.
const maxAnswer = 16 << 20

func (s *Server) decode(ctx context.Context, command string, in, out any) error {
	answer, err := s.Call(ctx, command, in)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	if err := json.NewDecoder(io.LimitReader(answer, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("rclone sent an invalid response to %s: %w", command, err)
	}
	return nil
}
