// Command hello is the smallest program that has an image.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/agent-sandbox/shared/version"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version.String())
		return
	}
	os.Exit(2)
}
