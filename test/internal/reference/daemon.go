package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	sandboxdprogram "sigs.k8s.io/agent-sandbox/core/cmd/sandboxd/program"
)

// daemonTable has a row for each flag of sandboxd, in the order of its help.
func daemonTable() string {
	var text strings.Builder
	text.WriteString("\n| flag | type | default | meaning |\n| --- | --- | --- | --- |\n")
	options := sandboxdprogram.NewOptions()
	options.Flags().VisitAll(func(flag *pflag.Flag) {
		fmt.Fprintf(&text, "| `--%s` | %s | %s | %s |\n", flag.Name, typeOf(flag.Value.Type()), defaultOf(flag.DefValue), cell(flag.Usage))
	})
	return text.String() + "\n"
}
