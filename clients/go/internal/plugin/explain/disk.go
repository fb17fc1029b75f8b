package explain

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// defaultClass marks the StorageClass of disks that name none.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// disks explains a Pod without a node by a disk that waits.
func disks(s Seen) []Finding {
	for i := range s.Disks {
		disk := &s.Disks[i]
		if disk.Status.Phase == corev1.ClaimBound {
			continue
		}
		if f, waits := waitingDisk(s, disk); waits {
			return one(f)
		}
	}
	return nil
}

func waitingDisk(s Seen, disk *corev1.PersistentVolumeClaim) (Finding, bool) {
	began := disk.CreationTimestamp.Time
	describe := s.kubectl("describe pvc %s", disk.Name)
	name := disk.Spec.StorageClassName
	class := classOf(s.StorageClasses, name)
	switch {
	case class == nil && name != nil && *name == "":
		return found(Stuck, DiskPending, "Disk %s waits for a PersistentVolume that somebody makes by hand", disk.Name).since(began).
			because("its storageClassName is empty").next(describe, "kubectl get pv"), true
	case class == nil && len(s.Unread) == 0 && name != nil:
		return found(Stuck, StorageClassMissing, "The StorageClass of disk %s does not exist", disk.Name).since(began).
			because("its storageClassName is %q", *name).next("kubectl get storageclass", describe), true
	case class == nil && len(s.Unread) == 0:
		return found(Stuck, StorageClassMissing, "Disk %s names no StorageClass, and the cluster has no default", disk.Name).since(began).
			next("kubectl get storageclass", describe), true
	}
	if event := s.latest(disk, "ProvisioningFailed"); event != nil {
		return found(Stuck, DiskPending, "Disk %s cannot be made", disk.Name).since(began).because("%s", event.Message).next(describe), true
	}
	if class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		// It waits for the Pod to have a node: the scheduler says what keeps it.
		return Finding{}, false
	}
	return found(Waiting, DiskPending, "Waiting for disk %s to be made", disk.Name).since(began).next(describe), true
}

// classOf returns the StorageClass of the name, or the default one for none; nil if there is none.
func classOf(classes []storagev1.StorageClass, name *string) *storagev1.StorageClass {
	for i := range classes {
		switch class := &classes[i]; {
		case name == nil && class.Annotations[defaultClass] == "true", name != nil && class.Name == *name:
			return class
		}
	}
	return nil
}
