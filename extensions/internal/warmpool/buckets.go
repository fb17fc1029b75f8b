package warmpool

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// longestWait is how long a pool waits for a token at most before it looks again.
const longestWait = time.Hour

// Buckets hold, per pool, the tokens that refilling it costs. What they know may be lost at any instant: a bucket is then full
// again. They are safe for concurrent use.
type Buckets struct {
	mu     sync.Mutex
	rate   float64
	burst  int
	limits map[types.UID]*rate.Limiter
}

// NewBuckets returns Buckets that fill with perSecond tokens, and hold as many as a second brings or burst, whichever is less.
// Zero is no limit.
func NewBuckets(perSecond float64, burst int) *Buckets {
	if perSecond > 0 {
		burst = int(math.Ceil(min(perSecond, float64(burst))))
	}
	return &Buckets{rate: perSecond, burst: burst, limits: map[types.UID]*rate.Limiter{}}
}

// Tokens returns how many a pool has, and how long until it has one, when it has none.
func (b *Buckets) Tokens(pool types.UID, now time.Time) (int, time.Duration) {
	if b.rate == 0 {
		return b.burst, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens := b.of(pool).TokensAt(now)
	if tokens >= 1 {
		return int(tokens), 0
	}
	return 0, time.Duration(math.Ceil(min((1-tokens)/b.rate, longestWait.Seconds()) * float64(time.Second)))
}

// Spend takes tokens that a pool has.
func (b *Buckets) Spend(pool types.UID, now time.Time, tokens int) {
	if b.rate == 0 || tokens == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(pool).AllowN(now, tokens)
}

// Forget drops the bucket of a pool that is gone.
func (b *Buckets) Forget(pool types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.limits, pool)
}

// Len returns how many pools have a bucket.
func (b *Buckets) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.limits)
}

func (b *Buckets) of(pool types.UID) *rate.Limiter {
	limiter := b.limits[pool]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Limit(b.rate), b.burst)
		b.limits[pool] = limiter
	}
	return limiter
}
