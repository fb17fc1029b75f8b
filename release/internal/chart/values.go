package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// flagDefaults are the flags of the values, by which the templates tell those that were changed.
func flagDefaults(values []byte) ([]byte, error) {
	type controller struct {
		Flags map[string]any `json:"flags"`
	}
	var all struct {
		Core       controller `json:"core"`
		Extensions controller `json:"extensions"`
	}
	if err := yaml.Unmarshal(values, &all); err != nil {
		return nil, fmt.Errorf("reading the flags of the values: %w", err)
	}
	text, err := yaml.Marshal(map[string]any{"core": all.Core.Flags, "extensions": all.Extensions.Flags})
	if err != nil {
		return nil, fmt.Errorf("writing the defaults of flags: %w", err)
	}
	return append([]byte("# Generated from values.yaml by release/cmd/generate: change that, not this.\n"), text...), nil
}

// The lines of the README between which the table stands.
const (
	tableBegins = "<!-- values: generated from values.yaml -->\n"
	tableEnds   = "<!-- end of values -->\n"
)

// withTable puts the table of values into the README.
func withTable(readme, values []byte) ([]byte, error) {
	before, rest, begins := bytes.Cut(readme, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return nil, errors.New("the lines are missing between which the table of values stands")
	}
	rows, err := table(values)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{before, []byte(tableBegins), rows, []byte(tableEnds), after}, nil), nil
}

// table has a row for each value that has a comment.
func table(values []byte) ([]byte, error) {
	document, err := kyaml.Parse(string(values))
	if err != nil {
		return nil, fmt.Errorf("reading values.yaml: %w", err)
	}
	var rows bytes.Buffer
	rows.WriteString("| value | default | meaning |\n| --- | --- | --- |\n")
	err = writeRows(&rows, "", document.YNode())
	return rows.Bytes(), err
}

// writeRows writes the rows of the fields of a mapping. A mapping without comments inside is one value.
func writeRows(rows *bytes.Buffer, prefix string, mapping *kyaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		if value.Kind == kyaml.MappingNode && explained(value) {
			if err := writeRows(rows, name+".", value); err != nil {
				return err
			}
			continue
		}
		meaning := sentence(key.HeadComment)
		if meaning == "" {
			return fmt.Errorf("the value %s has no comment that says what it means", name)
		}
		text, err := inline(value)
		if err != nil {
			return fmt.Errorf("the value %s: %w", name, err)
		}
		fmt.Fprintf(rows, "| `%s` | `%s` | %s |\n", name, text, meaning)
	}
	return nil
}

func explained(mapping *kyaml.Node) bool {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		value := mapping.Content[i+1]
		if mapping.Content[i].HeadComment != "" || value.Kind == kyaml.MappingNode && explained(value) {
			return true
		}
	}
	return false
}

// sentence is a comment as one line, as a cell of a table can hold it.
func sentence(comment string) string {
	// What stands apart above it is no part of it.
	paragraphs := strings.Split(comment, "\n\n")
	var words []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		words = append(words, strings.TrimSpace(strings.TrimPrefix(line, "#")))
	}
	return strings.ReplaceAll(strings.Join(words, " "), "|", `\|`)
}

func inline(value *kyaml.Node) (string, error) {
	var content any
	if err := value.Decode(&content); err != nil {
		return "", err
	}
	text, err := json.Marshal(content)
	return string(text), err
}
