package preflight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
)

const defaultClass = "storageclass.kubernetes.io/is-default-class"

func checkStorageClasses(seen Seen, _ Target) []Finding {
	const object = "StorageClasses"
	if unknown := seen.StorageClasses.unknown(object); unknown != nil {
		return unknown
	}
	var all, defaults []string
	var chosen storagev1.StorageClass
	for _, class := range seen.StorageClasses.Value {
		all = append(all, class.Name)
		if class.Annotations[defaultClass] != "true" && class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		defaults = append(defaults, class.Name)
		// As the API server chooses: the youngest.
		if len(defaults) == 1 || chosen.CreationTimestamp.Before(&class.CreationTimestamp) {
			chosen = class
		}
	}
	switch {
	case len(all) == 0:
		return []Finding{warning(object, "there is none: a Sandbox with volumeClaimTemplates gets no disk, unless somebody makes volumes by hand. Install a provisioner")}
	case len(defaults) == 0:
		return []Finding{noDefault(all)}
	case len(defaults) > 1:
		return append([]Finding{severalDefaults(defaults, chosen.Name)}, binding(chosen, seen.Nodes.Value))
	}
	return []Finding{binding(chosen, seen.Nodes.Value)}
}

func markDefault(class string, isDefault string) string {
	return fmt.Sprintf(`kubectl patch storageclass %s --patch '{"metadata":{"annotations":{"%s":"%s"}}}'`, class, defaultClass, isDefault)
}

func noDefault(all []string) Finding {
	finding := warning("StorageClasses", "none is the default (there is %s): a disk of volumeClaimTemplates that names no storageClassName is not made, and its Sandbox waits. Make one the default, or name one in templates", and(all))
	return finding.with(markDefault(all[0], "true"))
}

func severalDefaults(defaults []string, chosen string) Finding {
	finding := warning("StorageClasses", "%s are all the default: the youngest, %s, is taken. Leave it to one", and(defaults), chosen)
	for _, other := range defaults {
		if other != chosen {
			finding = finding.with(markDefault(other, "false"))
		}
	}
	return finding
}

// binding tells where volumes of the default class are made: before or after their Pod has a node.
func binding(class storagev1.StorageClass, nodes []corev1.Node) Finding {
	object := "StorageClass " + class.Name
	if ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate) == storagev1.VolumeBindingWaitForFirstConsumer {
		return ok(object, "it is the default, and makes a volume where its Pod is scheduled (WaitForFirstConsumer)")
	}
	if zones := zonesOf(nodes); len(zones) > 1 {
		return warning(object, "it is the default, and makes a volume before its Pod is scheduled (Immediate), on a cluster of %d zones: the Pod is bound to the volume's zone, though it may be full. A class with WaitForFirstConsumer avoids that", len(zones))
	}
	return ok(object, "it is the default, and makes a volume before its Pod is scheduled (Immediate)")
}

func zonesOf(nodes []corev1.Node) []string {
	var zones []string
	for _, node := range nodes {
		if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	return zones
}
