package helm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// Release is one installation of a chart.
type Release struct {
	// Name and Namespace as they are given to helm install.
	Name, Namespace string
	// Upgrade: an earlier revision is installed.
	Upgrade bool
}

// Load reads the chart in a directory.
func Load(directory string) (*chart.Chart, error) {
	loaded, err := loader.LoadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("loading the chart in %s: %w", directory, err)
	}
	return loaded, nil
}

// Files are the texts that a chart makes, by the names of their templates, NOTES.txt among them. Values are what a user
// sets over the chart's own; those that the schema does not know are an error, as is a template that reads a value which nobody sets.
func Files(ctx context.Context, source *chart.Chart, release Release, values map[string]any) (map[string]string, error) {
	options := common.ReleaseOptions{
		Name: release.Name, Namespace: release.Namespace, Revision: 1, IsInstall: !release.Upgrade, IsUpgrade: release.Upgrade,
	}
	if release.Upgrade {
		options.Revision++
	}
	all, err := util.ToRenderValues(source, values, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(ctx, source, all)
	if err != nil {
		return nil, fmt.Errorf("rendering chart %s: %w", source.Name(), err)
	}
	return files, nil
}

// Manifest is one text with all objects, sorted so that it can be applied from first to last.
func Manifest(files map[string]string) string {
	var documents []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "NOTES.txt" {
			continue
		}
		for document := range strings.SplitSeq("\n"+files[name], "\n---\n") {
			if strings.TrimSpace(document) != "" {
				documents = append(documents, strings.TrimSpace(document)+"\n")
			}
		}
	}
	slices.SortStableFunc(documents, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return "---\n" + strings.Join(documents, "---\n")
}

// place says how early a document has to be applied.
func place(document string) int {
	// Each needs those before it; the rest is in any order behind them.
	first := []string{"Namespace", "CustomResourceDefinition", "ServiceAccount", "ConfigMap", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
	for line := range strings.Lines(document) {
		if kind, found := strings.CutPrefix(line, "kind: "); found {
			if at := slices.Index(first, strings.TrimSpace(kind)); at >= 0 {
				return at
			}
			return len(first)
		}
	}
	return len(first)
}
