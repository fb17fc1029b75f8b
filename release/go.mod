module sigs.k8s.io/agent-sandbox/release

go 1.26.0
