package devcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/build"
)

// The names of the components, for Kill, Logs and Options.Args.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
	Provisioner       = "provisioner"
)

// The names of the components that a real node adds.
const (
	// Node holds the namespaces in which all others run.
	Node       = "node"
	Containerd = "containerd"
	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
	KubeRouter = "kube-router"
)

// simulatedPods names the port of this machine that answers for every port of simulated Pods, if somebody listens there.
const simulatedPods = "simulated-pods"

// kubeletServer names the port on which a kubelet serves the API server.
const kubeletServer = "kubelet-server"

// etcdPeer names the port on which etcd would meet other members.
const etcdPeer = "etcd-peer"

// component is a process of a cluster, as data.
type component struct {
	// name is that of its log, record and first port.
	name string
	// program is the build target it runs.
	program string
	// after lists what must be healthy before it starts.
	after []string
	// ports are the names of the ports it listens on.
	ports []string
	// health is the path that answers 200 when it works, at the first port;
	// empty where running is all that can be known.
	health string
	// scheme is that of the health URL.
	scheme string
	// grace is how long it may take to end before it is killed.
	grace time.Duration
	// args returns its flags.
	args func(layout) []string
	// real says that only a cluster with a real node has it.
	real bool
	// before does what is to be done before each start, once what it comes after is healthy.
	before func(context.Context, *starter) error
}

// componentsOf returns the components of a cluster.
func componentsOf(withRealNode bool) []component {
	return slices.DeleteFunc(components(), func(c component) bool { return c.real && !withRealNode })
}

// components returns all components that there are.
func components() []component { return slices.Concat(realPlace(), controlPlane(), realNode()) }

func controlPlane() []component {
	controller := []string{APIServer}
	return []component{{
		name: Etcd, program: build.Etcd, after: []string{Node}, ports: []string{Etcd, etcdPeer},
		scheme: "https", health: "/health", grace: 10 * time.Second, args: etcdArgs,
	}, {
		name: APIServer, program: build.APIServer, after: []string{Etcd}, ports: []string{APIServer},
		scheme: "https", health: "/readyz", grace: 5 * time.Second, args: apiServerArgs,
	}, {
		name: ControllerManager, program: build.ControllerManager, after: controller, ports: []string{ControllerManager},
		scheme: "https", health: "/healthz", grace: 3 * time.Second, args: controllerManagerArgs,
	}, {
		name: Scheduler, program: build.Scheduler, after: controller, ports: []string{Scheduler},
		scheme: "https", health: "/healthz", grace: 3 * time.Second, args: schedulerArgs,
	}, {
		name: Kwok, program: build.Kwok, after: controller, ports: []string{Kwok, simulatedPods},
		scheme: "http", health: "/healthz", grace: 3 * time.Second, args: kwokArgs,
	}, {
		name: Provisioner, program: build.Devcluster, after: controller,
		grace: 3 * time.Second, args: provisionerArgs,
	}}
}

// ComponentNames returns the names of all components, in an order in which they
// can start.
func ComponentNames() []string { return namesOf(components()) }

// ComponentNames returns the names of those that the cluster has.
func (c *Cluster) ComponentNames() []string { return namesOf(c.components()) }

func namesOf(all []component) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// UnknownComponentError is returned where a component's name is wrong.
type UnknownComponentError struct {
	Name string
}

// Error implements error.
func (e *UnknownComponentError) Error() string {
	return fmt.Sprintf("no component %q: there are %s", e.Name, strings.Join(ComponentNames(), ", "))
}

func checkComponent(name string) error {
	if slices.Contains(ComponentNames(), name) {
		return nil
	}
	return &UnknownComponentError{Name: name}
}
