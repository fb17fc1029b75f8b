package preflight

import (
	"context"
	"fmt"
	"maps"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// version asks for what everybody may read. Where even that is not answered, nothing else will be.
func (r reader) version(ctx context.Context) (Answer[*version.Info], error) {
	info, err := r.discovery.ServerVersionWithContext(ctx)
	if apierrors.IsForbidden(err) {
		return Answer[*version.Info]{Failed: "you may not get /version"}, nil
	}
	if err != nil {
		return Answer[*version.Info]{}, fmt.Errorf("asking the cluster for its version: %w", err)
	}
	return Answer[*version.Info]{Value: info}, nil
}

// rights asks for what an installation takes. Who may give any right away is not asked for each one that the roles give.
func (r reader) rights(ctx context.Context, target Target) (Answer[map[Right]bool], error) {
	answer, err := r.ask(ctx, append(target.installRights(), target.grantRights()...))
	if err != nil || answer.Failed != "" {
		return answer, err
	}
	if mayGrant(answer.Value, target) {
		return answer, nil
	}
	granted, err := r.ask(ctx, target.grantedRights())
	if err != nil || granted.Failed != "" {
		return granted, err
	}
	maps.Copy(answer.Value, granted.Value)
	return answer, nil
}

func mayGrant(rights map[Right]bool, target Target) bool {
	for _, right := range target.grantRights() {
		if !rights[right] {
			return false
		}
	}
	return true
}

// ask returns an error only for a user whom the cluster does not know.
func (r reader) ask(ctx context.Context, rights []Right) (Answer[map[Right]bool], error) {
	answers := map[Right]bool{}
	for _, right := range rights {
		if _, asked := answers[right]; asked {
			continue
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(right)}}
		result, err := r.authorization.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if apierrors.IsUnauthorized(err) {
			return Answer[map[Right]bool]{}, fmt.Errorf("asking for your rights, while the cluster does not know who you are: log in again: %w", err)
		}
		if err != nil {
			return Answer[map[Right]bool]{Failed: fmt.Sprintf("asking whether you may %s: %v", right, err)}, nil
		}
		answers[right] = result.Status.Allowed
	}
	return Answer[map[Right]bool]{Value: answers}, nil
}

func attributes(right Right) *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(right.Resource, "/")
	return &authorizationv1.ResourceAttributes{
		Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: subresource, Namespace: inPath(right.Namespace), Name: right.Name,
	}
}
