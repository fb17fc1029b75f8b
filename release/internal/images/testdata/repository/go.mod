module sigs.k8s.io/agent-sandbox/shared

go 1.26.0
