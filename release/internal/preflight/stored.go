package preflight

import (
	"fmt"
	"strings"
)

func checkStoredVersions(seen Seen, target Target) []Finding {
	if unknown := seen.CRDs.unknown("CRDs"); unknown != nil {
		return nil // told by checkCRDs
	}
	return eachCRD(seen, target, decideStoredVersions)
}

// decideStoredVersions: the API server refuses a CRD without a version that status.storedVersions names, since objects may be
// stored in it that nothing could read any more.
func decideStoredVersions(seen Seen, have, want *customResource) []Finding {
	object := describeCRD(have)
	var old []string
	for _, version := range have.Status.StoredVersions {
		if versionIndex(want, version) < 0 {
			old = append(old, version)
		}
	}
	if len(old) == 0 {
		return []Finding{ok(object, "its objects are stored as %s", and(have.Status.StoredVersions))}
	}
	why := fmt.Sprintf("objects may be stored as %s (status.storedVersions), which this release does not have, so that the API server refuses its CRD", and(old))
	version := storageVersion(want)
	if unknown := seen.Stored[have.Name].unknown(object); unknown != nil {
		return append([]Finding{blocked(object, "%s. Rewrite the objects as %s, then take %s out of status.storedVersions", why, version, and(old))}, unknown...)
	}
	count := len(seen.Stored[have.Name].Value)
	if at := versionIndex(have, version); at < 0 || !have.Spec.Versions[at].Served {
		return []Finding{noWayThrough(have, why, version, count)}
	}
	wayOut := append(storeAs(have, version), rewrite(have, version, count)...)
	return []Finding{blocked(object, "%s. Rewrite its %d objects as %s, then take %s out of status.storedVersions", why, count, version, and(old)).
		with(append(wayOut, forget(have, version))...)}
}

// noWayThrough: the CRD that is there cannot turn its objects into ones of the version that is to come.
func noWayThrough(have *customResource, why, version string, count int) Finding {
	remove := fmt.Sprintf("kubectl delete crd %s", have.Name)
	if count == 0 {
		return blocked(describeCRD(have), "%s. It has no object: delete it", why).with(remove)
	}
	return blocked(describeCRD(have),
		"%s. It does not serve %s either, so that its %d objects cannot be rewritten: first upgrade to a release of that installation that has both versions; or keep a copy and delete the CRD, and with it every object of it",
		why, version, count).
		with(fmt.Sprintf("kubectl get %s --all-namespaces --output yaml > %s.yaml", have.Name, have.Spec.Names.Plural), remove)
}

// storeAs has the API server store what it writes from now on in that version.
func storeAs(have *customResource, version string) []string {
	if storageVersion(have) == version {
		return nil
	}
	var patch []string
	for i := range have.Spec.Versions {
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/storage","value":%t}`, i, have.Spec.Versions[i].Name == version))
	}
	return []string{
		fmt.Sprintf("kubectl patch crd %s --type=json --patch '[%s]'", have.Name, strings.Join(patch, ",")),
		// Nothing tells when every API server has seen it. What is written before that is stored as of old.
		"sleep 5",
	}
}

// rewrite writes every object as it is, which stores it anew. kubectl replace refuses to do that with none.
func rewrite(have *customResource, version string, count int) []string {
	if count == 0 {
		return nil
	}
	names := strings.Join([]string{have.Spec.Names.Plural, version, have.Spec.Group}, ".")
	return []string{fmt.Sprintf("kubectl get %s --all-namespaces --output json | kubectl replace --filename -", names)}
}

// forget leaves the one version in status.storedVersions that every object is stored in by now.
func forget(have *customResource, version string) string {
	return fmt.Sprintf(`kubectl patch crd %s --subresource=status --type=merge --patch '{"status":{"storedVersions":["%s"]}}'`, have.Name, version)
}
