module sigs.k8s.io/agent-sandbox/clients/go

go 1.26.0

require (
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	k8s.io/client-go v0.37.2
	sigs.k8s.io/agent-sandbox/core v0.0.0
	sigs.k8s.io/agent-sandbox/extensions v0.0.0
)

replace sigs.k8s.io/agent-sandbox/core => ../../core

replace sigs.k8s.io/agent-sandbox/extensions => ../../extensions

replace sigs.k8s.io/agent-sandbox/shared => ../../shared
