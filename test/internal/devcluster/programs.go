package devcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/build"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
)

// programs finds the programs of a cluster: those of the assets directory, if
// there is one, before those built here.
type programs struct {
	assets string
	built  string
}

func findPrograms(root string) programs {
	return programs{assets: os.Getenv(AssetsVariable), built: build.New(root, io.Discard).Dir()}
}

func (p programs) path(name string) string {
	if p.givenAsset(name) {
		return filepath.Join(p.assets, name)
	}
	return filepath.Join(p.built, name)
}

// givenAsset says whether the assets directory has the program. Only what
// envtest knows is looked for there.
func (p programs) givenAsset(name string) bool {
	return p.assets != "" && isEnvtest(name) && executable(filepath.Join(p.assets, name))
}

func isEnvtest(name string) bool {
	return slices.ContainsFunc(build.Envtest(), func(t build.Target) bool { return t.Name == name })
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// ensure builds what is neither given nor built.
func (p programs) ensure(ctx context.Context, root string, out io.Writer, withRealNode bool) error {
	targets := build.Cluster()
	if withRealNode {
		targets = append(targets, build.Node(node.MayRaisePriority())...)
	}
	missing := slices.DeleteFunc(targets, func(t build.Target) bool { return p.givenAsset(t.Name) })
	return build.New(root, out).Ensure(ctx, missing)
}

// Assets returns the absolute path of the directory that envtest needs as
// KUBEBUILDER_ASSETS. If that variable is set already, its directory is checked
// for etcd and kube-apiserver and returned; else etcd, kube-apiserver and
// kubectl are built if missing. Progress goes to out.
func Assets(ctx context.Context, root string, out io.Writer) (string, error) {
	given := os.Getenv(AssetsVariable)
	if given == "" {
		b := build.New(root, out)
		if err := b.Ensure(ctx, build.Envtest()); err != nil {
			return "", err
		}
		return filepath.Abs(b.Dir())
	}
	for _, name := range []string{build.Etcd, build.APIServer} {
		if path := filepath.Join(given, name); !executable(path) {
			return "", fmt.Errorf("%s is set, but %s is not an executable file: unset it to build what is needed",
				AssetsVariable, path)
		}
	}
	return filepath.Abs(given)
}
