package build

import "slices"

// The names of what a real node needs on top of a cluster. Those of programs that others look for are given by these.
const (
	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
	Containerd = "containerd"
	Ctr        = "ctr"
	CoreDNS    = "coredns"
	KubeRouter = "kube-router"
	Probe      = "probe"
)

// Node returns what a real node needs on top of a cluster. Where a process may not be given a better chance when memory is short,
// gVisor's shim is changed so that it does not try.
func Node(mayRaisePriority bool) []Target {
	return slices.Concat(
		[]Target{kubeTarget(Kubelet), kubeTarget(KubeProxy)},
		containerdTargets(), networkTargets(), runtimeTargets(mayRaisePriority), []Target{probeTarget()},
	)
}

func containerdTargets() []Target {
	const module = "github.com/containerd/containerd/v2"
	var targets []Target
	for _, name := range []string{Containerd, "containerd-shim-runc-v2", Ctr} {
		targets = append(targets, Target{
			Name: name, Module: controlplane + "containerd", Package: module + "/cmd/" + name, Source: module,
			Variables: []string{module + "/version.Version=$version"},
		})
	}
	return targets
}

func networkTargets() []Target {
	const plugins, coreDNS, kubeRouter = "github.com/containernetworking/plugins", "github.com/coredns/coredns", "github.com/cloudnativelabs/kube-router/v2"
	targets := []Target{
		{Name: CoreDNS, Module: controlplane + "coredns", Package: coreDNS, Source: coreDNS},
		{Name: KubeRouter, Module: controlplane + "kuberouter", Package: kubeRouter + "/cmd/kube-router", Source: kubeRouter},
	}
	for name, path := range map[string]string{
		"bridge": "main/bridge", "loopback": "main/loopback", "host-local": "ipam/host-local", "portmap": "meta/portmap",
	} {
		targets = append(targets, Target{Name: name, Module: controlplane + "cni", Package: plugins + "/plugins/" + path, Source: plugins})
	}
	return targets
}

func runtimeTargets(mayRaisePriority bool) []Target {
	const runc, gvisor = "github.com/opencontainers/runc", "gvisor.dev/gvisor"
	shim := Target{Name: "containerd-shim-runsc-v1", Module: controlplane + "gvisor", Package: gvisor + "/shim", Source: gvisor}
	if !mayRaisePriority {
		shim.Patch = &Patch{File: "pkg/shim/v1/manager.go", Old: "oomScoreMax = -999", New: "oomScoreMax = 0"}
	}
	return []Target{
		{
			Name: "runc", Module: controlplane + "runc", Package: runc, Source: runc, Cgo: true, Tags: []string{"seccomp"},
			Variables: []string{"main.version=$version"},
		},
		{
			Name: "runsc", Module: controlplane + "gvisor", Package: gvisor + "/runsc", Source: gvisor,
			Variables: []string{gvisor + "/runsc/version.version=$version"},
		},
		shim,
	}
}

// probeTarget is the program of this repository that tests run in containers. It uses nothing else of the repository.
func probeTarget() Target {
	return Target{Name: Probe, Module: "test", Package: "./cmd/probe", Inputs: []string{"test/cmd/probe"}}
}
