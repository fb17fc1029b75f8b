package fairqueue

import "time"

// companyLasts is for how long a namespace counts as present after its last request: one that comes now and then, say for one claim
// after the other, is not to find all workers at the requests of a crowd each time.
const companyLasts = 10 * time.Second

// company knows whether more than one namespace has had requests lately.
type company struct {
	// latest is the namespace that had one last.
	latest string
	at     time.Time
	// othersAt is when any other namespace had one last; zero for never.
	othersAt time.Time
}

// meet notes that a namespace has, or had until now, a request.
func (c *company) meet(namespace string, now time.Time) {
	if namespace != c.latest {
		c.latest, c.othersAt = namespace, c.at
	}
	c.at = now
}

// isThere says whether another namespace than the latest has been met lately.
func (c *company) isThere(now time.Time) bool {
	return !c.othersAt.IsZero() && now.Sub(c.othersAt) < companyLasts
}
