// Package names derives the short, stable tokens by which objects are indexed.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// Hash is the 32-bit FNV-1a hash of a name: 8 lower-case hex digits. Two names can share it, so it selects
// nothing alone and proves no ownership.
func Hash(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash.Hash never returns an error
	return fmt.Sprintf("%08x", h.Sum32())
}

// Digest is the first 32 hex digits of the SHA-256 of a name. No two names share it, and it fits into a label.
func Digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// Fingerprint is the first 16 hex digits of the SHA-256 of v as JSON. It fails when v has no JSON form.
func Fingerprint(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T for its fingerprint: %w", v, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}
