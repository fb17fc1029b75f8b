package schedule

import (
	"math/rand/v2"
	"time"
)

// killers is the number of the first actor that kills; the further ones have those down from the largest there is, and users
// those from 1.
const killers = uint64(0)

// Kill is the end of a controller.
type Kill struct {
	// After is the time since all replicas were last ready.
	After time.Duration
	// Replica is the number of the one that is killed, from 0.
	Replica int
}

// Kills draws kills, one after the other.
type Kills struct {
	random      *rand.Rand
	least, most time.Duration
	replicas    int
}

// NewKills returns kills of that many replicas of a controller, with pauses drawn evenly from least to most. Controllers are
// numbered from 0.
func NewKills(seed uint64, controller, replicas int, least, most time.Duration) *Kills {
	return &Kills{random: newRandom(seed, killers-uint64(controller)), least: least, most: most, replicas: replicas}
}

// Next returns the next kill.
func (k *Kills) Next() Kill {
	pause := k.least + time.Duration(k.random.Int64N(int64(k.most-k.least)+1))
	return Kill{After: pause.Round(time.Millisecond), Replica: k.random.IntN(k.replicas)}
}
