package requeststate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// Keys holds the ring in force. Many goroutines may use it while one replaces
// the ring; each call sees one ring or the other, never a mixture.
type Keys struct {
	ring atomic.Pointer[Ring]
}

// NewKeys starts with the given ring.
func NewKeys(ring *Ring) (*Keys, error) {
	k := new(Keys)
	if err := k.Reload(ring); err != nil {
		return nil, err
	}
	return k, nil
}

// Reload puts another ring in force. A key that is not in it any more opens
// nothing from now on.
func (k *Keys) Reload(ring *Ring) error {
	if ring == nil || ring.mint == nil {
		return errors.New("key ring: no key")
	}
	k.ring.Store(ring)
	return nil
}

// IDs lists the keys in force, for logs and metrics.
func (k *Keys) IDs() []KeyInfo { return k.ring.Load().IDs() }

// maxRingFile is far above any ring and keeps a wrong path from filling memory.
const maxRingFile = 64 << 10

// ReadRing reads a key ring from a regular file.
func ReadRing(path string) (*Ring, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	return ParseRing(text)
}

func readFile(path string) (string, error) {
	// Asked before opening: opening a named pipe waits for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New(path + " is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRingFile+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxRingFile {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxRingFile)
	}
	return string(text), nil
}
