// Command broken does not compile.
package main

func main() {
	undefined()
}
