package report

// Report is the outcome of a run.
type Report struct {
	Setting Setting `json:"setting"`
	Cases   []Case  `json:"cases"`
}

// Setting is what the figures depend on beside the code.
type Setting struct {
	CPUs       int    `json:"cpus"` // of this machine, which runs everything but an existing cluster
	Kubernetes string `json:"kubernetes"`
	Nodes      int    `json:"nodes"`
	Count      int    `json:"count"`    // objects in each round
	Parallel   int    `json:"parallel"` // objects that are under way at a time
	Rounds     int    `json:"rounds"`   // of floor and ours each, alternating
	// ControllerArgs are flags that differ from what is shipped.
	ControllerArgs []string `json:"controllerArgs,omitempty"`
}

// Case is the outcome of one benchmark.
type Case struct {
	Name    string  `json:"name"`
	Summary string  `json:"summary"`
	Floor   string  `json:"floor"` // what is done without our controllers
	Ours    string  `json:"ours"`
	Phases  []Phase `json:"phases"`
}

// Phase is a part of a benchmark that is measured by itself.
type Phase struct {
	Name    string   `json:"name"`
	Figures []Figure `json:"figures"`
}

// Figure is one thing that was measured. What was not, or could not be, is absent.
type Figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Floor *Values `json:"floor,omitempty"`
	Ours  *Values `json:"ours,omitempty"`
	Ratio *Values `json:"ratio,omitempty"` // ours by floor, of each round; its value is their median
}

// Values are a figure of each round and what they come to.
type Values struct {
	Value  float64   `json:"value"`
	Rounds []float64 `json:"rounds"`
}
