// Package node is the place in which a real node runs beside the machine's own processes, without any trace of it on the machine:
// a network and a mount namespace that one process holds, a group of processes in every cgroup hierarchy, and what the programs
// in there read.
//
// The namespaces end with the last process in them, and with them every mount, address, route and firewall rule. What the kubelet
// would set for the whole machine it finds set already, see Hold.
package node
