package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"sigs.k8s.io/agent-sandbox/release/internal/crdschema"
	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

// crdSize holds the size of the document and that of compact JSON below what client-side apply can store.
func crdSize(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, object := range asset.Objects {
		if _, ok := object.Typed.(*apiextensionsv1.CustomResourceDefinition); !ok {
			continue
		}
		compact, err := json.Marshal(object.Typed)
		if err != nil {
			findings = append(findings, finding.Finding{Object: object.ID(), Field: "as JSON", Value: err.Error(), Fix: "correct the object"})
		}
		for _, form := range []struct {
			name string
			size int
		}{{"size in bytes", len(object.YAML)}, {"size in bytes as compact JSON", len(compact)}} {
			if form.size > crdschema.MaxBytes {
				findings = append(findings, finding.Finding{
					Object: object.ID(), Field: form.name, Value: strconv.Itoa(form.size), Fix: fmt.Sprintf("keep it to %d: shorten descriptions", crdschema.MaxBytes),
				})
			}
		}
	}
	return findings
}

// crdDescriptions: our own fields are documented where kubectl explain looks; Kubernetes' own are not repeated.
func crdDescriptions(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, object := range asset.Objects {
		crd, ok := object.Typed.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			continue
		}
		crdschema.Walk(crd, func(field crdschema.Field) {
			described := field.Schema.Description != ""
			switch {
			case field.Embedded && described:
				findings = append(findings, finding.Finding{
					Object: object.ID(), Field: field.Path + ".description", Value: field.Schema.Description, Fix: "strip it: run make generate",
				})
			case !field.Embedded && !described && needsDescription(field.Path):
				findings = append(findings, finding.Finding{Object: object.ID(), Field: field.Path + ".description", Fix: "comment the Go field and run make generate"})
			}
		})
	}
	return findings
}

// needsDescription leaves out items and map values, which their parent describes, and the object's metadata,
// which the API server describes.
func needsDescription(path string) bool {
	if strings.HasSuffix(path, "[]") || strings.HasSuffix(path, "{}") {
		return false
	}
	_, property, _ := strings.Cut(path, ".")
	return property != "metadata"
}
