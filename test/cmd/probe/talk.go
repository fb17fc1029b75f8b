package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/gorilla/websocket"
	"golang.org/x/sys/unix"
)

// converse also tells the size of the terminal each time, so that whoever changes it sees that.
func converse(_ context.Context, _ []string) error {
	fmt.Println("listening", onWhat())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Printf("heard %q %s\n", lines.Text(), onWhat())
	}
	return lines.Err()
}

func onWhat() string {
	size, err := unix.IoctlGetWinsize(int(os.Stdin.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return "on no terminal"
	}
	return fmt.Sprintf("on a terminal of %dx%d", size.Col, size.Row)
}

// echo sends back what comes by a WebSocket until that ends.
func echo(w http.ResponseWriter, r *http.Request) {
	connection, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered.
	}
	defer func() { _ = connection.Close() }()
	for {
		kind, message, err := connection.ReadMessage()
		if err == nil {
			err = connection.WriteMessage(kind, message)
		}
		if err != nil {
			return
		}
	}
}

// hold answers when its client is gone.
func hold(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
