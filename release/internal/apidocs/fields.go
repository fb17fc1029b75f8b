package apidocs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/agent-sandbox/release/internal/crdschema"
)

// field is a row of a kind's table.
type field struct {
	path, kind, fallback, rules, meaning string
}

// validation is a rule that the API server checks by CEL.
type validation struct {
	path, message, rule string
}

// kubernetesType is a type of Kubernetes, which is named and not expanded. It is known by properties that only it has together.
type kubernetesType struct {
	name, link string
	properties []string
}

func kubernetesTypes() []kubernetesType {
	const (
		reference = "https://kubernetes.io/docs/reference/kubernetes-api/"
		policy    = reference + "policy-resources/network-policy-v1/#NetworkPolicySpec"
	)
	return []kubernetesType{
		{"PodSpec", reference + "workload-resources/pod-v1/#PodSpec", []string{"containers", "restartPolicy", "nodeName"}},
		{
			"PersistentVolumeClaimSpec", reference + "config-and-storage-resources/persistent-volume-claim-v1/#PersistentVolumeClaimSpec",
			[]string{"accessModes", "storageClassName", "volumeName"},
		},
		{"NetworkPolicyIngressRule", policy, []string{"from", "ports"}},
		{"NetworkPolicyEgressRule", policy, []string{"to", "ports"}},
		{"Condition", "https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition", []string{"lastTransitionTime", "reason", "status", "type"}},
	}
}

// definitions reads the CustomResourceDefinitions below dir.
func definitions(root fs.FS, dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := fs.Glob(root, path.Join(dir, "*_*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no CustomResourceDefinition", dir)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		content, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all = append(all, crd)
	}
	return all, nil
}

// reader collects the rows of one definition.
type reader struct {
	fields      []field
	validations []validation
	required    map[string]bool
	// closed are the paths of types of Kubernetes, below which nothing is told.
	closed []string
}

// read returns the fields and the rules of a definition. A field of ours without a description is an error.
func read(crd *apiextensionsv1.CustomResourceDefinition) (*reader, error) {
	r := &reader{required: map[string]bool{}}
	var missing []string
	crdschema.Walk(crd, func(node crdschema.Field) {
		if r.isClosed(node.Path) {
			return
		}
		for _, name := range node.Schema.Required {
			r.required[node.Path+"."+name] = true
		}
		_, name, below := strings.Cut(node.Path, ".")
		for _, rule := range node.Schema.XValidations {
			r.validations = append(r.validations, validation{path: name, message: rule.Message, rule: rule.Rule})
		}
		if hasType(node.Schema) != nil {
			r.closed = append(r.closed, node.Path)
		}
		if !below || isOfEveryObject(name) || strings.HasSuffix(name, "{}") || strings.HasSuffix(name, "[]") {
			return
		}
		if node.Schema.Description == "" {
			missing = append(missing, name)
		}
		r.fields = append(r.fields, r.row(name, node))
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("kind %s: no description of %s", crd.Spec.Names.Kind, strings.Join(missing, ", "))
	}
	return r, nil
}

func isOfEveryObject(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

func (r *reader) isClosed(path string) bool {
	for _, prefix := range r.closed {
		if rest, below := strings.CutPrefix(path, prefix); below && strings.ContainsAny(rest[:min(1, len(rest))], ".[{") {
			return true
		}
	}
	return false
}

func (r *reader) row(name string, node crdschema.Field) field {
	rules := bounds(node.Schema)
	if r.required[node.Path] {
		rules = append([]string{"required"}, rules...)
	}
	return field{
		path: name, kind: typeName(node.Schema), fallback: defaultOf(node.Schema), rules: strings.Join(rules, "; "),
		meaning: strings.Join(strings.Fields(node.Schema.Description), " "),
	}
}

// hasType is the type of Kubernetes that a schema is of; nil if it is ours.
func hasType(schema *apiextensionsv1.JSONSchemaProps) *kubernetesType {
	for _, known := range kubernetesTypes() {
		has := true
		for _, name := range known.properties {
			_, ok := schema.Properties[name]
			has = has && ok
		}
		if has {
			return &known
		}
	}
	return nil
}

// typeName is the type of a field as the table tells it.
func typeName(schema *apiextensionsv1.JSONSchemaProps) string {
	if known := hasType(schema); known != nil {
		return fmt.Sprintf("[%s](%s)", known.name, known.link)
	}
	switch {
	case schema.Type == "array" && schema.Items != nil && schema.Items.Schema != nil:
		return "list of " + typeName(schema.Items.Schema)
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		return "map of " + typeName(schema.AdditionalProperties.Schema)
	case schema.Format == "date-time":
		return "time"
	case schema.Format != "":
		return schema.Format
	}
	return schema.Type
}

func defaultOf(schema *apiextensionsv1.JSONSchemaProps) string {
	if schema.Default == nil {
		return ""
	}
	return "`" + plain(schema.Default.Raw) + "`"
}

// plain is a JSON value, strings without their quotes.
func plain(raw []byte) string {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text
	}
	return string(raw)
}

// bounds are the limits that the schema sets.
func bounds(schema *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	if len(schema.Enum) > 0 {
		values := make([]string, 0, len(schema.Enum))
		for _, value := range schema.Enum {
			values = append(values, "`"+plain(value.Raw)+"`")
		}
		all = append(all, strings.Join(values, ", "))
	}
	if schema.Minimum != nil {
		all = append(all, fmt.Sprintf("at least %v", *schema.Minimum))
	}
	if schema.Maximum != nil {
		all = append(all, fmt.Sprintf("at most %v", *schema.Maximum))
	}
	if schema.MinLength != nil && *schema.MinLength == 1 {
		all = append(all, "not empty")
	} else if schema.MinLength != nil {
		all = append(all, fmt.Sprintf("%d characters at least", *schema.MinLength))
	}
	if schema.MaxLength != nil {
		all = append(all, fmt.Sprintf("%d characters at most", *schema.MaxLength))
	}
	switch {
	case schema.Format == "date-time":
		all = append(all, "RFC 3339")
	case schema.Pattern != "":
		all = append(all, "matches `"+schema.Pattern+"`")
	}
	switch {
	case schema.XListType != nil && *schema.XListType == "map":
		all = append(all, "one for each "+strings.Join(schema.XListMapKeys, " and "))
	case schema.XListType != nil && *schema.XListType == "atomic":
		all = append(all, "owned as a whole")
	}
	return all
}
