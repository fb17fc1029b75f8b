package crdschema

import (
	"math"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	// timePattern is RFC 3339 as Go reads it. The format date-time alone admits more: lower-case letters, any offset, a tail.
	timePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// quantityPattern is a Kubernetes quantity with at most 30 digits on either side of the point and an exponent of two: more takes
	// the API server half a minute to calculate with.
	quantityPattern = `^[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
)

// Bound refuses the values that the schema of a Go type admits and Go then cannot read, or not in reasonable time. One object with
// such a value keeps every client from listing and watching all objects of its kind.
func Bound(crd *apiextensionsv1.CustomResourceDefinition) {
	Walk(crd, func(field Field) {
		schema := field.Schema
		switch {
		case schema.Type == "string" && schema.Format == "date-time":
			schema.Pattern = timePattern
			// A string with a format is not told from a list, which these two make impossible.
			none, one := int64(0), int64(1)
			schema.MinItems, schema.MaxItems = &one, &none
		case schema.XIntOrString && schema.Pattern != "":
			schema.Pattern = quantityPattern
		case schema.XIntOrString:
			least, most := float64(math.MinInt32), float64(math.MaxInt32)
			schema.Minimum, schema.Maximum = &least, &most
		}
	})
}
