// Package documents reads what documents tell their readers to type and to save, so that tests do just that.
package documents

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Document is what a reader of it types and saves.
type Document struct {
	// Commands are the blocks that name the test, in their order.
	Commands []string
	// Files are the blocks that are to be saved, by the names that they are to have.
	Files map[string]string
}

// marked finds a comment right above a block, and the block, without its last line break.
var marked = regexp.MustCompile("(?s)<!-- (test|file): ([^\n]*) -->\n *```\\w+\n(.*?)\n *```")

// Read reads the document at a path for the test of a name.
func Read(path, test string) (Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Document{}, fmt.Errorf("reading a document: %w", err)
	}
	read := Document{Files: map[string]string{}}
	for _, block := range marked.FindAllStringSubmatch(string(text), -1) {
		switch {
		case block[1] == "file":
			read.Files[block[2]] = block[3] + "\n"
		case slices.Contains(strings.Split(block[2], ", "), test):
			read.Commands = append(read.Commands, block[3])
		}
	}
	return read, nil
}
