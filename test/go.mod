module sigs.k8s.io/agent-sandbox/test

go 1.26.0
