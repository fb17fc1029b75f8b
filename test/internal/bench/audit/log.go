package audit

import (
	"fmt"
	"io"
	"os"
)

// Log is an audit log that the API server keeps writing.
type Log struct {
	path string
	read int64
}

// Open returns the log at path, from its present end on.
func Open(path string) (*Log, error) {
	log := &Log{path: path}
	size, err := log.Size()
	log.read = size
	return log, err
}

// Size returns the bytes that are in the log by now.
func (l *Log) Size() (int64, error) {
	info, err := os.Stat(l.path)
	if err != nil {
		return 0, fmt.Errorf("looking at the audit log: %w", err)
	}
	return info.Size(), nil
}

// Next counts the requests that were logged since Open or the last Next.
func (l *Log) Next() (Counts, error) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(l.read, io.SeekStart); err != nil {
		return nil, fmt.Errorf("finding the place in the audit log: %w", err)
	}
	counts, length, err := Read(file)
	l.read += length
	return counts, err
}
