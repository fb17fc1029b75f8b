package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Kind is what requests that are counted together have in common.
type Kind struct {
	User string // the impersonated one, where there is one
	Verb string // as in RBAC: create, update, patch, delete, deletecollection, get, list
	// Resource is the plural, with a subresource after a slash: "pods/binding".
	Resource        string
	Namespace, Name string // of the object
	Code            int    // HTTP status of the answer
}

// IsWrite says whether requests of this kind mean to change something.
func (k Kind) IsWrite() bool {
	switch k.Verb {
	case "get", "list", "watch":
		return false
	default:
		return true
	}
}

// IsEvent says whether requests of this kind are about Events.
func (k Kind) IsEvent() bool { return k.Resource == "events" }

// Refused says whether the answer was not 2xx.
func (k Kind) Refused() bool { return k.Code < http.StatusOK || k.Code >= http.StatusMultipleChoices }

// Counts are numbers of requests.
type Counts map[Kind]int

// Sum adds up the kinds that all filters let pass.
func (c Counts) Sum(filters ...func(Kind) bool) int {
	sum := 0
	for kind, n := range c {
		if all(filters, kind) {
			sum += n
		}
	}
	return sum
}

// By adds up the kinds that all filters let pass, by the given feature.
func (c Counts) By(feature func(Kind) string, filters ...func(Kind) bool) map[string]int {
	sums := map[string]int{}
	for kind, n := range c {
		if all(filters, kind) {
			sums[feature(kind)] += n
		}
	}
	return sums
}

func all(filters []func(Kind) bool, kind Kind) bool {
	for _, filter := range filters {
		if !filter(kind) {
			return false
		}
	}
	return true
}

// entry is what is read of a line of the log, an Event of audit.k8s.io/v1.
type entry struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	ImpersonatedUser *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus *struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Read counts the requests in a log. A last line without an end is still being written: it is left out, and so is its
// length from the number of bytes that were read.
func Read(log io.Reader) (Counts, int64, error) {
	counts := Counts{}
	reader := bufio.NewReader(log)
	var length int64
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return counts, length, nil
		}
		if err != nil {
			return counts, length, fmt.Errorf("reading the audit log: %w", err)
		}
		if err := counts.add(line); err != nil {
			return counts, length, err
		}
		length += int64(len(line))
	}
}

func (c Counts) add(line []byte) error {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("reading line %q of the audit log: %w", bytes.TrimSpace(line), err)
	}
	answered := e.Stage == "ResponseComplete" || e.Stage == "Panic"
	if !answered || e.ObjectRef == nil {
		return nil
	}
	object := e.ObjectRef
	kind := Kind{User: e.User.Username, Verb: e.Verb, Resource: object.Resource, Namespace: object.Namespace, Name: object.Name}
	if e.ImpersonatedUser != nil {
		kind.User = e.ImpersonatedUser.Username
	}
	if object.Subresource != "" {
		kind.Resource += "/" + object.Subresource
	}
	if e.ResponseStatus != nil {
		kind.Code = e.ResponseStatus.Code
	}
	c[kind]++
	return nil
}
