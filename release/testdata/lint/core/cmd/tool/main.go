// Command tool does what only commands may do.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	fmt.Println(time.Now())
	time.Sleep(time.Millisecond)
	os.Exit(1)
}
