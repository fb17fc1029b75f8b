package devcluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// How a Pod on a simulated node ends.
const (
	// TerminateAnnotation says how a Pod ends that is deleted: TerminateSlowly or TerminateAtOnce. Without it a Pod ends at
	// once, and another one that is made of its name within milliseconds may be taken for it.
	TerminateAnnotation = "devcluster.agents.x-k8s.io/terminate"
	// TerminateSlowly takes the whole grace period.
	TerminateSlowly = "slowly"
	// TerminateAtOnce takes no time.
	TerminateAtOnce = "at-once"
)

// stagesYAML are the stages that simulated nodes have beside KWOK's own.
//
//go:embed stages.yaml
var stagesYAML []byte

const (
	// simulatedAnnotation with simulatedValue marks the nodes that KWOK runs.
	simulatedAnnotation = "kwok.x-k8s.io/node"
	simulatedValue      = "fake"
	// simulatedSelector selects the nodes that devcluster made.
	simulatedSelector = "type=kwok"
	// settlePatience is how long nodes and ServiceAccount may take.
	settlePatience = 90 * time.Second
	settleEvery    = 100 * time.Millisecond
	// writersAtOnce is how many nodes are written at the same time.
	writersAtOnce = 16
)

// settle gives the cluster exactly as many simulated nodes as it is to have, and
// returns when all nodes take Pods and Pods can be made in the default namespace.
func settle(ctx context.Context, config *rest.Config, wanted settings) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	found, err := simulatedNodes(ctx, client)
	if err != nil {
		return err
	}
	create, remove := planNodes(found, wanted)
	if err := changeNodes(ctx, client, create, remove); err != nil {
		return err
	}
	err = poll(ctx, func(ctx context.Context) error { return whatIsMissing(ctx, client, wanted) })
	if err != nil {
		return fmt.Errorf("waiting for the cluster to be ready: %w", err)
	}
	return nil
}

func simulatedNodes(ctx context.Context, client kubernetes.Interface) ([]corev1.Node, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: simulatedSelector})
	if err != nil {
		return nil, fmt.Errorf("listing simulated nodes: %w", err)
	}
	return list.Items, nil
}

// planNodes returns the nodes to create and the names of those to delete, so
// that kwok-0 to kwok-(wanted-1) remain.
func planNodes(found []corev1.Node, wanted settings) (create []*corev1.Node, remove []string) {
	missing := map[string]*corev1.Node{}
	for i := range wanted.Nodes {
		node := desiredNode(i, wanted.Ports[simulatedPods])
		missing[node.Name] = node
	}
	for _, node := range found {
		if _, kept := missing[node.Name]; !kept {
			remove = append(remove, node.Name)
		}
		delete(missing, node.Name)
	}
	for i := range wanted.Nodes {
		if node, isMissing := missing[nodeName(i)]; isMissing {
			create = append(create, node)
		}
	}
	return create, remove
}

func nodeName(i int) string {
	return fmt.Sprintf("kwok-%d", i)
}

// desiredNode is a node far larger than simulated Pods can fill, for whose Pods a port answers.
func desiredNode(i, podPort int) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("512Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("4Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(PodsOfNode, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        nodeName(i),
			Annotations: map[string]string{simulatedAnnotation: simulatedValue, PodPortAnnotation: strconv.Itoa(podPort)},
			Labels: map[string]string{
				"type":                 "kwok",
				corev1.LabelHostname:   nodeName(i),
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: runtime.GOARCH,
			},
		},
		Status: corev1.NodeStatus{Allocatable: room, Capacity: room},
	}
}

func changeNodes(ctx context.Context, client kubernetes.Interface, create []*corev1.Node, remove []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writersAtOnce)
	nodes := client.CoreV1().Nodes()
	for _, node := range create {
		group.Go(func() error {
			_, err := nodes.Create(ctx, node, metav1.CreateOptions{FieldManager: fieldManager})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating node %q: %w", node.Name, err)
			}
			return nil
		})
	}
	for _, name := range remove {
		group.Go(func() error {
			err := nodes.Delete(ctx, name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("deleting node %q: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// poll tries until it succeeds, or until settlePatience is over. Refused and
// failed requests are what a repaired API server may begin with.
func poll(ctx context.Context, try func(context.Context) error) error {
	patient, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	for {
		err := try(patient)
		if err == nil {
			return nil
		}
		var final finalError
		if errors.As(err, &final) {
			return final.error
		}
		select {
		case <-patient.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("after %s: %w", settlePatience, err)
		case <-ticker.C:
		}
	}
}

// finalError is one that another try would not mend.
type finalError struct{ error }

// whatIsMissing says why the cluster cannot run Pods yet.
func whatIsMissing(ctx context.Context, client kubernetes.Interface, wanted settings) error {
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("reading the default ServiceAccount: %w", err)
	}
	found, err := simulatedNodes(ctx, client)
	if err != nil {
		return err
	}
	usable := 0
	for _, node := range found {
		if takesPods(node) {
			usable++
		}
	}
	if usable < wanted.Nodes {
		return fmt.Errorf("%d of %d simulated nodes take Pods", usable, wanted.Nodes)
	}
	if wanted.Real {
		return whatTheRealNodeLacks(ctx, client)
	}
	return nil
}

// takesPods says whether a node is ready and the controller manager has taken
// away the taints that unready nodes have. A cordoned node is the user's will.
func takesPods(node corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
