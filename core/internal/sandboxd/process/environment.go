package process

import (
	"maps"
	"slices"
	"strings"
)

// Hidden says that a variable of this name may hold a secret, for a part of its name says so, in whatever case.
func Hidden(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(
		[]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CRED", "KEY", "AUTH", "BEARER", "PRIVATE", "CERT"},
		func(part string) bool { return strings.Contains(upper, part) },
	)
}

// Environment are variables by their names.
type Environment map[string]string

// ParseEnvironment reads variables of the form NAME=value, as os.Environ returns them.
func ParseEnvironment(variables []string) Environment {
	parsed := Environment{}
	for _, variable := range variables {
		if name, value, ok := strings.Cut(variable, "="); ok && name != "" {
			parsed[name] = value
		}
	}
	return parsed
}

// Public returns the variables that are not hidden, or that are let through by name.
func (e Environment) Public(letThrough []string) Environment {
	public := Environment{}
	for name, value := range e {
		if !Hidden(name) || slices.Contains(letThrough, name) {
			public[name] = value
		}
	}
	return public
}

// with returns the variables with others that win over them.
func (e Environment) with(others map[string]string) Environment {
	merged := maps.Clone(e)
	maps.Copy(merged, others)
	return merged
}

// list has the form that a program is started with, sorted.
func (e Environment) list() []string {
	variables := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		variables = append(variables, name+"="+e[name])
	}
	return variables
}
