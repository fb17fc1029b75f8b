package build

import "slices"

// Target is one file in the output directory: a program, or files of a module
// put together.
type Target struct {
	// Name is the file's name in the output directory.
	Name string
	// Module is the directory of the go.mod that pins it, relative to the
	// repository's root.
	Module string
	// Package is the main package to build; a relative one lies in Module.
	Package string
	// Source is the path of the module that Version variables and Files come
	// from; empty for a program of this repository.
	Source string
	// Variables are set in the program when it is linked, as path.name=value.
	// $version, $major, $minor and $date stand for those of the Source.
	Variables []string
	// Files are patterns, relative to Source's directory, of files to put
	// together in that order in place of a Package.
	Files []string
	// Tags are build tags.
	Tags []string
	// Cgo says that the program holds C, and is linked with libraries of the system.
	Cgo bool
	// Patch is a change to the Source; nil for none.
	Patch *Patch
	// Inputs are directories, relative to the root, whose Go files count in the
	// stamp beside those of Module.
	Inputs []string
}

// Patch replaces a text that is in a file of a module exactly once.
type Patch struct {
	File, Old, New string
}

// The names of the targets, which are those of the files.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
	KwokStages        = "kwok-stages.yaml"
	Devcluster        = "devcluster"
)

// Envtest returns what envtest and controller-runtime need.
func Envtest() []Target {
	return []Target{etcdTarget(), kubeTarget(APIServer), kubeTarget(Kubectl)}
}

// Cluster returns what a cluster of simulated nodes needs.
func Cluster() []Target {
	return append(Envtest(), kubeTarget(ControllerManager), kubeTarget(Scheduler),
		kwokTarget(), stagesTarget(), devclusterTarget())
}

const (
	controlplane = "test/controlplane/"
	kwokModule   = "sigs.k8s.io/kwok"
)

func etcdTarget() Target {
	const server = "go.etcd.io/etcd/server/v3"
	return Target{Name: Etcd, Module: controlplane + "etcd", Package: server, Source: server}
}

func kwokTarget() Target {
	return Target{
		Name: Kwok, Module: controlplane + "kwok", Package: kwokModule + "/cmd/kwok", Source: kwokModule,
		Variables: []string{kwokModule + "/pkg/consts.Version=$version"},
	}
}

func stagesTarget() Target {
	return Target{
		Name: KwokStages, Module: controlplane + "kwok", Source: kwokModule,
		Files: []string{
			"kustomize/stage/node/fast/node-*.yaml",
			"kustomize/stage/node/heartbeat-with-lease/node-*.yaml",
			"kustomize/stage/pod/fast/pod-*.yaml",
		},
	}
}

// devclusterTarget is devcluster itself, which runs as a cluster's volume
// provisioner. It uses nothing of this repository beside its inputs.
func devclusterTarget() Target {
	return Target{
		Name: Devcluster, Module: "test", Package: "./cmd/devcluster",
		Inputs: []string{"test/cmd/devcluster", "test/internal/devcluster"},
	}
}

func kubeTarget(name string) Target {
	return Target{
		Name: name, Module: controlplane + "kube", Package: "k8s.io/kubernetes/cmd/" + name,
		Source: "k8s.io/kubernetes",
		Variables: slices.Concat(
			kubeVersion("k8s.io/component-base/version"),
			kubeVersion("k8s.io/client-go/pkg/version"),
		),
	}
}

// kubeVersion lists the variables that Kubernetes' own build sets. The module
// proxy does not tell the commit, so that it stays empty.
func kubeVersion(pkg string) []string {
	return []string{
		pkg + ".gitVersion=$version",
		pkg + ".gitMajor=$major",
		pkg + ".gitMinor=$minor",
		pkg + ".gitCommit=",
		pkg + ".gitTreeState=clean",
		pkg + ".buildDate=$date",
	}
}
