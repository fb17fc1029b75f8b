package transport_test

import (
	"os"
	"testing"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
