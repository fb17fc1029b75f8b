module sigs.k8s.io/agent-sandbox/core

go 1.26.0
