package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/filters/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

const versionLabel = "app.kubernetes.io/version"

// Overlay is one release asset.
type Overlay struct {
	// Name of the directory below kustomize/overlays, and of the asset without .yaml.
	Name string
	// Images are the bare image names in its manifests that get prefix and tag. Each must occur.
	Images []string
}

// Overlays is the table of all release assets.
func Overlays() []Overlay {
	return []Overlay{
		{Name: "sandbox", Images: []string{"agent-sandbox-controller"}},
		{Name: "extensions", Images: []string{"agent-sandbox-extensions-controller"}},
		{Name: "sandbox-with-extensions", Images: []string{"agent-sandbox-controller", "agent-sandbox-extensions-controller"}},
		{Name: "sandbox-router", Images: []string{"sandbox-router"}},
	}
}

// Find returns the overlay of that name.
func Find(name string) (Overlay, error) {
	var known []string
	for _, overlay := range Overlays() {
		if overlay.Name == name {
			return overlay, nil
		}
		known = append(known, overlay.Name)
	}
	return Overlay{}, fmt.Errorf("there is no overlay %q: choose from %s", name, strings.Join(known, ", "))
}

// Release says which images an asset installs.
type Release struct {
	// ImagePrefix is the registry and path that stand before every image name.
	ImagePrefix string
	// Tag of every image; it is also the value of the version label.
	Tag string
	// Digests that images are pinned to beside the tag, sha256:… by bare image name. If there are any, each image of
	// an overlay must have one.
	Digests map[string]string
}

// Development is the release that golden copies are rendered for: what a build without a version tag is called.
func Development() Release {
	return Release{ImagePrefix: "registry.k8s.io/agent-sandbox", Tag: "v0.0.0-dev"}
}

// Validate returns an error if an asset with this prefix and tag could not be applied.
func (r Release) Validate() error {
	if r.ImagePrefix == "" || strings.HasSuffix(r.ImagePrefix, "/") {
		return fmt.Errorf("image prefix %q: give a registry and path without a slash at the end", r.ImagePrefix)
	}
	if r.Tag == "" || r.Tag == "latest" {
		return fmt.Errorf("tag %q: give a version that always means the same image", r.Tag)
	}
	if problems := validation.IsValidLabelValue(r.Tag); len(problems) > 0 {
		return fmt.Errorf("tag %q is no label value: %s", r.Tag, strings.Join(problems, "; "))
	}
	return nil
}

// Render builds the overlay from the kustomize directory of the repository at root. Same files, same bytes.
func Render(root string, overlay Overlay, release Release) ([]byte, error) {
	if err := release.Validate(); err != nil {
		return nil, err
	}
	directory := filepath.Join(root, "kustomize", "overlays", overlay.Name)
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, fmt.Errorf("building overlay %s: %w", overlay.Name, err)
	}
	if err := pinImages(objects, overlay, release); err != nil {
		return nil, fmt.Errorf("pinning the images of overlay %s: %w", overlay.Name, err)
	}
	if err := labelVersion(objects, release); err != nil {
		return nil, fmt.Errorf("labelling overlay %s: %w", overlay.Name, err)
	}
	return write(objects, overlay)
}

func pinImages(objects resmap.ResMap, overlay Overlay, release Release) error {
	for _, name := range overlay.Images {
		image, err := release.image(name)
		if err != nil {
			return err
		}
		pin := imagetag.Filter{
			ImageTag: image,
			FsSlice: types.FsSlice{
				{Path: "spec/template/spec/containers[]/image"},
				{Path: "spec/template/spec/initContainers[]/image"},
			},
		}
		if err := objects.ApplyFilter(pin); err != nil {
			return fmt.Errorf("setting image %s: %w", name, err)
		}
		text, err := objects.AsYaml()
		if err != nil {
			return fmt.Errorf("writing the objects with image %s: %w", name, err)
		}
		if !bytes.Contains(text, []byte("image: "+reference(image)+"\n")) {
			return fmt.Errorf("no container has the image %s", name)
		}
	}
	return nil
}

// image says what stands in place of a bare image name. With a digest the tag only informs readers.
func (r Release) image(name string) (types.Image, error) {
	image := types.Image{Name: name, NewName: r.ImagePrefix + "/" + name, NewTag: r.Tag, Digest: r.Digests[name]}
	if len(r.Digests) > 0 && image.Digest == "" {
		return types.Image{}, fmt.Errorf("there is no digest of image %s, but of %s", name, strings.Join(slices.Sorted(maps.Keys(r.Digests)), ", "))
	}
	return image, nil
}

func reference(image types.Image) string {
	tagged := image.NewName + ":" + image.NewTag
	if image.Digest == "" {
		return tagged
	}
	return tagged + "@" + image.Digest
}

func labelVersion(objects resmap.ResMap, release Release) error {
	fields := types.FsSlice{{Path: "metadata/labels", CreateIfNotPresent: true}}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		fields = append(fields, types.FieldSpec{Gvk: resid.Gvk{Kind: kind}, Path: "spec/template/metadata/labels", CreateIfNotPresent: true})
	}
	return objects.ApplyFilter(labels.Filter{Labels: map[string]string{versionLabel: release.Tag}, FsSlice: fields})
}

// order in which objects can be applied to an empty cluster: each kind may need those before it.
func order() []string {
	return []string{
		"Namespace", "CustomResourceDefinition",
		"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
		"ConfigMap", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		"Service", "NetworkPolicy", "PodDisruptionBudget", "Deployment", "StatefulSet", "DaemonSet",
	}
}

func write(objects resmap.ResMap, overlay Overlay) ([]byte, error) {
	if objects.Size() == 0 {
		return nil, errors.New("the overlay holds no object")
	}
	sorted := slices.Clone(objects.Resources())
	for _, object := range sorted {
		if !slices.Contains(order(), object.GetKind()) {
			return nil, fmt.Errorf("overlay %s: kind %s has no place in the order of applying", overlay.Name, object.GetKind())
		}
	}
	slices.SortStableFunc(sorted, compare)
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Rendered from kustomize/overlays/%s by release/cmd/render: change that, not this.\n", overlay.Name)
	for _, object := range sorted {
		text, err := object.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

func compare(a, b *resource.Resource) int {
	return cmp.Or(
		cmp.Compare(slices.Index(order(), a.GetKind()), slices.Index(order(), b.GetKind())),
		cmp.Compare(a.GetNamespace(), b.GetNamespace()),
		cmp.Compare(a.GetName(), b.GetName()),
	)
}
