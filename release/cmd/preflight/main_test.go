package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nowhere is a kubeconfig with a cluster at which nobody listens.
const nowhere = `apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: nobody}]
`

func TestExitCodes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(nowhere), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"help":                              {[]string{"--help"}, 0, ""},
		"a flag that there is not":          {[]string{"--apply"}, 2, "flag provided but not defined: -apply; --help explains"},
		"more than flags":                   {[]string{"--for", "sandbox", "now"}, 2, `["now"]: there is nothing but flags`},
		"something else to install":         {[]string{"--for", "router"}, 2, `--for: "router" cannot be installed: choose sandbox or extensions`},
		"another form":                      {[]string{"-o", "yaml"}, 2, `-o "yaml": choose text or json`},
		"a name that no namespace has":      {[]string{"--namespace", "A/B"}, 2, `--namespace "A/B": `},
		"a kubeconfig that there is not":    {[]string{"--kubeconfig", file + "-not"}, 2, "no cluster to look at: "},
		"a context that there is not":       {[]string{"--kubeconfig", file, "--context", "b"}, 2, `context "b" does not exist`},
		"a cluster that is not to be asked": {[]string{"--kubeconfig", file}, 1, "asking the cluster for its version: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(t.Context(), c.args, &out, &errs); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(errs.String(), c.says) || (c.says == "") != (errs.Len() == 0) {
				t.Errorf("standard error has %q, want %q", errs.String(), c.says)
			}
		})
	}
}

func TestHelpTeaches(t *testing.T) {
	var out, errs bytes.Buffer
	run(t.Context(), []string{"--help"}, &out, &errs)
	for _, want := range []string{"unknown  not looked at", "The exit code is 0", "-kubeconfig file", "-context name", "-for what", "-namespace namespace", "-as user", "-o form"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}
