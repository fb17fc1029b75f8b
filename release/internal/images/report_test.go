package images_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/release/internal/images"
)

func TestResultsAreATableOrJSON(t *testing.T) {
	built := []images.Built{
		{Image: "example.com/controller:v1", Platforms: []string{"linux/amd64", "linux/arm64"}, Archive: "dist/images/controller.tar", Size: 3 << 19, Digest: "sha256:aa"},
		{Image: "example.com/router:v1", Platforms: []string{"linux/arm64"}, Archive: "dist/images/router.tar", Size: 1 << 20, Digest: "sha256:bb"},
	}
	pushed := []images.Pushed{{Reference: "localhost:5000/controller:v1", Digest: "sha256:aa"}}
	for name, test := range map[string]struct {
		write func(w *bytes.Buffer) error
		want  string
	}{
		"a table of what was built": {
			func(w *bytes.Buffer) error { return images.WriteBuilt(w, images.FormatText, built) },
			`IMAGE                      PLATFORMS                SIZE     DIGEST
example.com/controller:v1  linux/amd64,linux/arm64  1.5 MiB  sha256:aa
example.com/router:v1      linux/arm64              1.0 MiB  sha256:bb
`,
		},
		"JSON of what was built": {
			func(w *bytes.Buffer) error { return images.WriteBuilt(w, images.FormatJSON, built[1:]) },
			`[
  {
    "image": "example.com/router:v1",
    "platforms": [
      "linux/arm64"
    ],
    "archive": "dist/images/router.tar",
    "size": 1048576,
    "digest": "sha256:bb"
  }
]
`,
		},
		"a table of what was pushed": {
			func(w *bytes.Buffer) error { return images.WritePushed(w, images.FormatText, pushed) },
			`REFERENCE                     DIGEST
localhost:5000/controller:v1  sha256:aa
`,
		},
		"JSON of what was pushed": {
			func(w *bytes.Buffer) error { return images.WritePushed(w, images.FormatJSON, pushed) },
			`[
  {
    "reference": "localhost:5000/controller:v1",
    "digest": "sha256:aa"
  }
]
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := test.write(&got); err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(test.want, got.String()); difference != "" {
				t.Errorf("result (-want +got):\n%s", difference)
			}
		})
	}
}

func TestAnUnknownFormIsRefusedBeforeAnythingIsBuilt(t *testing.T) {
	format := images.FormatText
	if err := format.Set("yaml"); err == nil || format != images.FormatText {
		t.Errorf("got %v and form %s", err, format)
	}
	if err := format.Set("json"); err != nil || format != images.FormatJSON {
		t.Errorf("got %v and form %s, want json", err, format)
	}
}
