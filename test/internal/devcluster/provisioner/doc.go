// Package provisioner makes the volumes of a cluster's default StorageClass:
// one host path for each claim, on the node that the scheduler chose.
package provisioner
