package target

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// isPathForm says whether an escaped path is one that names a sandbox, well or badly: such a request never goes by its headers, since
// whoever routes by paths decides by them.
func (r Rules) isPathForm(path string) bool {
	return r.PathPrefix != "" && (path == r.PathPrefix || strings.HasPrefix(path, r.PathPrefix+"/"))
}

// readPath reads <prefix>/<namespace>/<id>/<port>/<rest>.
func (r Rules) readPath(path string) (Target, error) {
	const parts = 4
	split := strings.SplitN(strings.TrimPrefix(strings.TrimPrefix(path, r.PathPrefix), "/"), "/", parts)
	if len(split) < parts-1 {
		return Target{}, &Malformed{DetailPath}
	}
	namespace, id := split[0], split[1]
	port, ok := parsePort(split[2])
	switch {
	case !isLabel(namespace):
		return Target{}, &Malformed{DetailNamespace}
	case !isLabel(id):
		return Target{}, &Malformed{DetailID}
	case !ok:
		return Target{}, &Malformed{DetailPort}
	}
	base := strings.Join([]string{r.PathPrefix, namespace, id, split[2]}, "/")
	return Target{Sandbox: types.NamespacedName{Namespace: namespace, Name: id}, Port: port, Base: base}, nil
}

// Rest is the escaped path that the sandbox sees.
func (t Target) Rest(path string) string {
	if t.Base == "" {
		return path
	}
	rest := strings.TrimPrefix(path, t.Base)
	if rest == "" {
		return "/"
	}
	return rest
}
