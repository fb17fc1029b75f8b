// Package pki makes a cluster's certificate authorities, certificates, service
// account key and kubeconfig files. What is there and still good is kept.
package pki
