package thing

import (
	"errors"
	"fmt"
	"io/ioutil" // want depguard staticcheck
	"log"
	"net/http"
	"os"
	clock "time"
)

var count int // want gochecknoglobals

func init() { // want gochecknoinits
	count++
}

// Count reads what init wrote.
func Count() int {
	return count
}

// Clock reads the clock in every way there is.
func Clock(then clock.Time) {
	_ = clock.Now()           // want forbidigo
	_ = clock.Since(then)     // want forbidigo
	_ = clock.Until(then)     // want forbidigo
	<-clock.After(clock.Hour) // want forbidigo
	<-clock.Tick(clock.Hour)  // want forbidigo
	clock.Sleep(clock.Hour)   // want forbidigo
}

// Leave ends the process in every way there is.
func Leave(err error) {
	fmt.Println(err)       // want forbidigo
	fmt.Printf("%v", err)  // want forbidigo
	println(err)           // want forbidigo
	log.Fatal(err)         // want forbidigo revive
	log.Panicf("%v", err)  // want forbidigo
	os.Exit(1)             // want forbidigo
	panic("out of reason") // want forbidigo
}

// Read loses errors.
func Read(path string) ([]byte, error) {
	os.Remove(path)                       // want errcheck
	content, err := ioutil.ReadFile(path) // want govet
	if err == os.ErrNotExist {            // want errorlint
		return nil, errors.New("Nothing there.") // want revive staticcheck
	}
	return content, nil //nolint // want nolintlint
}

// Fetch leaves a body open.
func Fetch(client *http.Client, url string) (int, error) {
	response, err := client.Get(url) // want bodyclose
	if err != nil {
		return 0, err
	}
	return response.StatusCode, nil
}

type Undocumented struct{} // want revive
