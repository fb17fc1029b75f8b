package images

// Program is one binary that has an image of its own.
type Program struct {
	// Name of the image, of its archive without .tar, and of the binary in it.
	Name string
	// Package is the main package, relative to the root of the repository.
	Package string
}

// Programs is the table of all images.
func Programs() []Program {
	return []Program{
		{Name: "agent-sandbox-controller", Package: "./core/cmd/controller"},
		{Name: "agent-sandbox-extensions-controller", Package: "./extensions/cmd/controller"},
		{Name: "sandbox-router", Package: "./core/cmd/router"},
		{Name: "sandboxd", Package: "./core/cmd/sandboxd"},
	}
}
