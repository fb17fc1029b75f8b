package check

import (
	"fmt"
	"time"
)

// Violation is something that is not as it should be.
type Violation struct {
	// Kind and Name are those of the object.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Sandbox is the name of the Sandbox that it is about.
	Sandbox string `json:"sandbox"`
	// Claim is the name of the SandboxClaim that it is about, if any.
	Claim string `json:"claim,omitempty"`
	// Broken says what should be and what is.
	Broken string `json:"broken"`
	// History is what happened before, as far as it was noted.
	History []string `json:"history,omitempty"`
}

// String is the violation as one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s", v.Kind, v.Name, v.Broken)
}

// Error makes a Violation an error.
func (v Violation) Error() string { return v.String() }

// Case is what is judged.
type Case struct {
	World    World
	Disks    Disks
	Accounts map[string]*Account // by the names of Sandboxes
	Now      time.Time
}

// Violations returns all that is not as it should be once users and controllers have come to rest, in the order of kinds and
// names.
func (c Case) Violations() []Violation {
	j := &judge{Case: c, sandboxes: map[string]*subject{}}
	j.gather()
	j.judgeAccounts()
	j.judgeChildren()
	return j.found
}

// judge is one judgement under way.
type judge struct {
	Case
	sandboxes map[string]*subject // by name
	found     []Violation
}

func (j *judge) fail(kind, name, sandbox, format string, args ...any) {
	j.found = append(j.found, Violation{Kind: kind, Name: name, Sandbox: sandbox, Broken: fmt.Sprintf(format, args...)})
}

// gather puts together what belongs together.
func (j *judge) gather() {
	for i := range j.World.Sandboxes {
		sandbox := &j.World.Sandboxes[i]
		j.sandboxes[sandbox.Name] = &subject{judge: j, sandbox: sandbox, account: j.Accounts[sandbox.Name]}
	}
	byUID := map[string]*subject{}
	for _, s := range j.sandboxes {
		byUID[string(s.sandbox.UID)] = s
	}
	for i := range j.World.Pods {
		pod := &j.World.Pods[i]
		owner := Child{Object: pod}.owner()
		if s := byUID[string(owner)]; s != nil {
			s.pods = append(s.pods, pod)
		} else if s := j.sandboxes[pod.Name]; s != nil && owner == "" {
			s.unowned = pod
		}
	}
	for i := range j.World.Claims {
		claim := &j.World.Claims[i]
		if s := byUID[string(Child{Object: claim}.owner())]; s != nil {
			s.claims = append(s.claims, claim)
		}
	}
	for i := range j.World.Services {
		service := &j.World.Services[i]
		if s := byUID[string(Child{Object: service}.owner())]; s != nil {
			s.services = append(s.services, service)
		}
	}
}
