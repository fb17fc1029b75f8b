// Package node tests the release as it ships on a node that runs containers: identity, disks, isolation, network, lifecycles and installs.
// Its tests have the build tag node; make test-node runs them.
package node
