package sandbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/tunnel"
)

const (
	// routerService is the router's.
	routerService = "sandbox-router-svc"
	// routerPort is that of the Service, by which its EndpointSlices are told from those of other ports.
	routerPort = 8080
)

// wayToRouter forwards a local port to a Pod of the router.
func (c *Client) wayToRouter(ctx context.Context) (way, error) {
	namespace := c.options.RouterNamespace
	slices, err := c.cluster.Endpoints(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{discoveryv1.LabelServiceName: routerService}.String(),
	})
	if err != nil {
		return way{}, fmt.Errorf("finding the router: listing the endpoints of Service %s/%s: %w", namespace, routerService, err)
	}
	found := readyPods(slices.Items)
	if len(found) == 0 {
		return way{}, fmt.Errorf("finding the router: Service %s/%s has no Pod that is ready: install the router, "+
			"name its namespace in RouterNamespace, or use another Connectivity", namespace, routerService)
	}
	chosen := found[rand.IntN(len(found))]
	opened, err := c.forward(ctx, namespace, chosen.name, []int{int(chosen.port)})
	if err != nil {
		return way{}, err
	}
	target := local(opened.Local(uint16(chosen.port)))
	return way{base: func(int) *url.URL { return target }, routed: true, tunnel: opened}, nil
}

// endpoint is a Pod and its port.
type endpoint struct {
	name string
	port int32
}

// readyPods are the Pods behind a Service that take requests.
func readyPods(slices []discoveryv1.EndpointSlice) []endpoint {
	var found []endpoint
	for _, slice := range slices {
		port := portOf(slice.Ports)
		for _, each := range slice.Endpoints {
			ready := each.Conditions.Ready == nil || *each.Conditions.Ready
			if port != 0 && ready && each.TargetRef != nil && each.TargetRef.Kind == "Pod" {
				found = append(found, endpoint{name: each.TargetRef.Name, port: port})
			}
		}
	}
	return found
}

// portOf chooses the port of the Pods that serves requests: that of the Service's number, else one that is named so, else the only one.
func portOf(ports []discoveryv1.EndpointPort) int32 {
	for _, port := range ports {
		named := port.Name != nil && *port.Name == "http"
		if port.Port != nil && (*port.Port == routerPort || named || len(ports) == 1) {
			return *port.Port
		}
	}
	return 0
}

// forward opens a port-forward to ports of a Pod.
func (c *Client) forward(ctx context.Context, namespace, pod string, ports []int) (*tunnel.Tunnel, error) {
	waiting, stop := c.patience(ctx, "the port-forward to Pod "+namespace+"/"+pod, c.options.PortForwardReadyTimeout)
	defer stop()
	pairs := make([]string, 0, len(ports))
	for _, port := range ports {
		pairs = append(pairs, fmt.Sprintf("0:%d", port))
	}
	return tunnel.Open(waiting, tunnel.Options{Config: c.config, Namespace: namespace, Pod: pod, Ports: pairs, Logger: c.log.V(1)})
}
