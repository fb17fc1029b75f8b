package schedule

import (
	"math/rand/v2"
	"time"
)

// killer is the number of the actor that kills; users have those from 1.
const killer = 0

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

// NewKills returns kills of that many replicas, with pauses drawn evenly from least to most.
func NewKills(seed uint64, replicas int, least, most time.Duration) *Kills {
	return &Kills{random: newRandom(seed, killer), least: least, most: most, replicas: replicas}
}

// Next returns the next kill.
func (k *Kills) Next() Kill {
	pause := k.least + time.Duration(k.random.Int64N(int64(k.most-k.least)+1))
	return Kill{After: pause.Round(time.Millisecond), Replica: k.random.IntN(k.replicas)}
}
