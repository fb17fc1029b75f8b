package devcluster

import (
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
}

// components returns all components of a cluster of simulated nodes.
func components() []component {
	controller := []string{APIServer}
	return []component{{
		name: Etcd, program: build.Etcd, ports: []string{Etcd, etcdPeer},
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
		name: Kwok, program: build.Kwok, after: controller, ports: []string{Kwok},
		scheme: "http", health: "/healthz", grace: 3 * time.Second, args: kwokArgs,
	}, {
		name: Provisioner, program: build.Devcluster, after: controller,
		grace: 3 * time.Second, args: provisionerArgs,
	}}
}

// ComponentNames returns the names of a cluster's components in the order in
// which they start.
func ComponentNames() []string {
	var names []string
	for _, c := range components() {
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
