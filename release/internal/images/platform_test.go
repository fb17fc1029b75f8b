package images

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"
)

func TestParsePlatforms(t *testing.T) {
	for name, test := range map[string]struct{ list, want string }{
		"one of them":                             {"linux/arm64", "linux/arm64"},
		"all of them":                             {"linux/amd64,linux/arm64", "linux/amd64,linux/arm64"},
		"another order is the same image":         {"linux/arm64,linux/amd64", "linux/amd64,linux/arm64"},
		"one of them twice is one of them, still": {"linux/arm64,linux/arm64", "linux/arm64"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := ParsePlatforms(test.list)
			if err != nil {
				t.Fatal(err)
			}
			if got := List(parsed); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	for name, list := range map[string]string{
		"none":                        "",
		"one that is not built":       "linux/amd64,linux/riscv64",
		"one without a system":        "amd64",
		"a space, which may be typed": "linux/amd64, linux/arm64",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParsePlatforms(list); err == nil || !strings.Contains(err.Error(), "choose from linux/amd64,linux/arm64") {
				t.Errorf("got %v, want an error that lists the platforms", err)
			}
		})
	}
}

// program is an ELF file with one segment and no content.
func program(t *testing.T, machine elf.Machine, segment elf.ProgType) []byte {
	t.Helper()
	header := elf.Header64{
		Ident:   [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(machine),
		Version: uint32(elf.EV_CURRENT),
	}
	header.Ehsize, header.Phentsize, header.Phnum = uint16(binary.Size(header)), uint16(binary.Size(elf.Prog64{})), 1
	header.Phoff = uint64(header.Ehsize)
	var content bytes.Buffer
	for _, part := range []any{header, elf.Prog64{Type: uint32(segment)}} {
		if err := binary.Write(&content, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return content.Bytes()
}

func TestProgramsThatAnImageCouldNotRunAreRefused(t *testing.T) {
	amd64 := Platforms()[0]
	if err := amd64.check(program(t, elf.EM_X86_64, elf.PT_LOAD)); err != nil {
		t.Errorf("a static program is refused: %v", err)
	}
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"a program that needs a linker":   {program(t, elf.EM_X86_64, elf.PT_INTERP), "linked dynamically"},
		"a program for another processor": {program(t, elf.EM_AARCH64, elf.PT_LOAD), "is for EM_AARCH64, not for EM_X86_64"},
		"a script":                        {[]byte("#!/bin/sh\n"), "reading the program"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := amd64.check(test.content); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
