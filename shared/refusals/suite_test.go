package refusals

import (
	"os"
	"testing"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

var apiServer *testkit.APIServer

func TestMain(m *testing.M) {
	os.Exit(testkit.RunTests(m, func(started *testkit.APIServer) { apiServer = started }))
}
