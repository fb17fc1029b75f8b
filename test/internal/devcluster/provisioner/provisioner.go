package provisioner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Name is the provisioner's name in a StorageClass.
const Name = "devcluster.agents.x-k8s.io/host-path"

// Run provides volumes under the directory dir until ctx is done. A volume of the
// node realNode gets a directory that every user of a Pod may write to; those of
// other nodes, which are simulated, leave no trace on disk.
func Run(ctx context.Context, kubeconfig, dir, realNode string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	controller.NewProvisionController(ctx, client, Name, hostPath{dir: dir, realNode: realNode},
		controller.LeaderElection(false),
	).Run(ctx)
	return nil
}

// hostPath implements controller.Provisioner.
type hostPath struct {
	dir, realNode string
}

// Provision describes the volume for a claim.
func (p hostPath) Provision(
	_ context.Context, o controller.ProvisionOptions,
) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	volume := desiredVolume(p.dir, o)
	if o.SelectedNodeName != p.realNode {
		return volume, controller.ProvisioningFinished, nil
	}
	path := volume.Spec.HostPath.Path
	if err := makeWritable(path); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	// Unlike a HostPath it is given to the group that a Pod wants for its disks.
	volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}}
	return volume, controller.ProvisioningFinished, nil
}

func makeWritable(path string) error {
	const everybody = 0o777
	if err := os.MkdirAll(path, everybody); err != nil {
		return fmt.Errorf("making the directory of a volume: %w", err)
	}
	// The umask takes some of it away.
	if err := os.Chmod(path, everybody); err != nil {
		return fmt.Errorf("making the directory of a volume writable: %w", err)
	}
	return nil
}

// Delete removes what was made for the volume, if anything.
func (p hostPath) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	if err := os.RemoveAll(filepath.Join(p.dir, volume.Name)); err != nil {
		return fmt.Errorf("removing the directory of volume %q: %w", volume.Name, err)
	}
	return nil
}

func desiredVolume(dir string, o controller.ProvisionOptions) *corev1.PersistentVolume {
	kind := corev1.HostPathDirectoryOrCreate
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			MountOptions:                  o.StorageClass.MountOptions,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(dir, o.PVName), Type: &kind},
			},
		},
	}
	if o.SelectedNodeName != "" {
		volume.Spec.NodeAffinity = onNode(o.SelectedNodeName)
	}
	return volume
}

func onNode(name string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key:      corev1.LabelHostname,
				Operator: corev1.NodeSelectorOpIn,
				Values:   []string{name},
			}},
		}},
	}}
}
