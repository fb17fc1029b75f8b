package candidates

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Member is a Sandbox that waits in its pool and could be taken, as it was seen at a version.
type Member struct {
	Key     types.NamespacedName
	UID     types.UID
	Version string
	Pool    types.UID
	// PoolName is the name of the pool, in the namespace of the member.
	PoolName string
	Created  time.Time
	// Node is where its Pod runs.
	Node        string
	Tolerations []corev1.Toleration
}

// Candidates hands members out. What it knows may be lost at any instant: it is what the informers of Sandboxes and Nodes tell,
// and a member that is handed out twice is taken once, since taking it is a write under a precondition. It is safe for
// concurrent use.
type Candidates struct {
	mu      sync.Mutex
	members map[types.UID]*entry
	pools   map[types.UID]*pool
	nodes   map[string]node
	onNode  map[string]map[types.UID]*entry
	// soon are those that lack nothing but an IP, by pool.
	soon map[types.UID]map[types.UID]bool
	// poolOf says for each of them which pool that is.
	poolOf map[types.UID]types.UID
	// onNodes is told the pools to which the state of a node matters; nobody is at first.
	onNodes func([]types.NamespacedName)
}

// node is what decides whether the Pods on it may be handed out. A node that nobody told of is as good as any.
type node struct {
	closed bool
	// gone says that it is kept only for the members that are still seen on it.
	gone   bool
	taints []corev1.Taint
}

type entry struct {
	Member
	// taken says that somebody has it. That ends with Return, or once a version is seen that is not older than until.
	taken bool
	// until is empty while the write that takes it is under way.
	until string
	// bucket holds it while it can be taken; nil otherwise.
	bucket *bucket
	index  int
}

// pool orders the nodes by how many of its members can be taken there.
type pool struct {
	buckets map[string]*bucket
	order   ordered[*bucket]
	size    int
}

// bucket orders the members on one node by age.
type bucket struct {
	node    string
	members ordered[*entry]
	index   int
}

// New returns Candidates that know of none.
func New() *Candidates {
	return &Candidates{
		members: map[types.UID]*entry{}, pools: map[types.UID]*pool{},
		nodes: map[string]node{}, onNode: map[string]map[types.UID]*entry{},
		soon: map[types.UID]map[types.UID]bool{}, poolOf: map[types.UID]types.UID{},
		onNodes: func([]types.NamespacedName) {},
	}
}

// Observe tells that a member can be taken as far as its own state goes.
func (c *Candidates) Observe(member Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cease(member.UID)
	known := c.members[member.UID]
	if known == nil {
		known = &entry{}
		c.members[member.UID] = known
	} else {
		c.withdraw(known)
		c.leaveNode(known)
	}
	known.Member = member
	known.taken = known.taken && (known.until == "" || isOlder(member.Version, known.until))
	on := c.onNode[member.Node]
	if on == nil {
		on = map[types.UID]*entry{}
		c.onNode[member.Node] = on
	}
	on[member.UID] = known
	c.offer(known)
}

// Expect tells that a member lacks nothing but an IP.
func (c *Candidates) Expect(pool, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(uid)
	if c.soon[pool] == nil {
		c.soon[pool] = map[types.UID]bool{}
	}
	c.soon[pool][uid] = true
	c.poolOf[uid] = pool
}

// Expected says whether a pool has a member that lacks nothing but an IP.
func (c *Candidates) Expected(pool types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.soon[pool]) > 0
}

// Forget tells that a Sandbox is gone, or is not to be taken any more.
func (c *Candidates) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(uid)
}

// drop forgets a member. The caller holds the lock.
func (c *Candidates) drop(uid types.UID) {
	c.cease(uid)
	if known := c.members[uid]; known != nil {
		c.withdraw(known)
		c.leaveNode(known)
		delete(c.members, uid)
	}
}

func (c *Candidates) cease(uid types.UID) {
	pool, ok := c.poolOf[uid]
	if !ok {
		return
	}
	delete(c.poolOf, uid)
	delete(c.soon[pool], uid)
	if len(c.soon[pool]) == 0 {
		delete(c.soon, pool)
	}
}

// Take hands out the oldest member on the node that has most of them, among those that fit. It is then the caller's until
// Return or Written is called for it.
func (c *Candidates) Take(poolUID types.UID, fits func(Member) bool) (Member, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var passed []*entry
	defer func() {
		for _, known := range passed {
			c.offer(known)
		}
	}()
	for p := c.pools[poolUID]; p != nil && p.order.Len() > 0; p = c.pools[poolUID] {
		known := p.order.items[0].members.items[0]
		c.withdraw(known)
		if fits(known.Member) {
			known.taken, known.until = true, ""
			return known.Member, true
		}
		passed = append(passed, known)
	}
	return Member{}, false
}

// Return gives a member back that was not taken after all. One that was, by a later try of whoever gives it back, stays taken.
func (c *Candidates) Return(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.members[uid]; known != nil && known.taken && known.until == "" {
		known.taken = false
		c.offer(known)
	}
}

// Written tells that a member was taken by the write that made it stand at version. The informer may go on showing it as the
// pool's until it has seen that version.
func (c *Candidates) Written(uid types.UID, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.members[uid]
	switch {
	case known == nil:
	case isOlder(known.Version, version):
		// Somebody may have given it back in between who had it before.
		c.withdraw(known)
		known.taken, known.until = true, version
	default:
		known.taken = false
		c.offer(known)
	}
}

// Count returns how many members of a pool can be taken now.
func (c *Candidates) Count(poolUID types.UID) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pools[poolUID]; p != nil {
		return p.size
	}
	return 0
}

// Len returns how many members are known.
func (c *Candidates) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.members)
}

// offer makes a member available, if it is. The caller holds the lock.
func (c *Candidates) offer(known *entry) {
	if known.taken || known.bucket != nil || !c.nodes[known.Node].admits(known.Tolerations) {
		return
	}
	p := c.pools[known.Pool]
	if p == nil {
		p = newPool()
		c.pools[known.Pool] = p
	}
	p.add(known)
}

// withdraw is the opposite of offer. The caller holds the lock.
func (c *Candidates) withdraw(known *entry) {
	if known.bucket == nil {
		return
	}
	p := c.pools[known.Pool]
	p.remove(known)
	if p.size == 0 {
		delete(c.pools, known.Pool)
	}
}

func (c *Candidates) leaveNode(known *entry) {
	delete(c.onNode[known.Node], known.UID)
	if len(c.onNode[known.Node]) == 0 {
		delete(c.onNode, known.Node)
		if c.nodes[known.Node].gone {
			delete(c.nodes, known.Node)
		}
	}
}

func newPool() *pool {
	return &pool{buckets: map[string]*bucket{}, order: ordered[*bucket]{
		less: func(a, b *bucket) bool {
			if a.members.Len() != b.members.Len() {
				return a.members.Len() > b.members.Len()
			}
			return a.node < b.node
		},
		place: func(b *bucket, index int) { b.index = index },
	}}
}

func (p *pool) add(known *entry) {
	b := p.buckets[known.Node]
	if b == nil {
		b = &bucket{node: known.Node, members: ordered[*entry]{less: isElder, place: func(e *entry, index int) { e.index = index }}}
		p.buckets[known.Node] = b
		p.order.add(b)
	}
	b.members.add(known)
	known.bucket = b
	p.order.fix(b.index)
	p.size++
}

func (p *pool) remove(known *entry) {
	b := known.bucket
	b.members.remove(known.index)
	known.bucket = nil
	p.size--
	if b.members.Len() > 0 {
		p.order.fix(b.index)
		return
	}
	p.order.remove(b.index)
	delete(p.buckets, b.node)
}

func isElder(a, b *entry) bool {
	if !a.Created.Equal(b.Created) {
		return a.Created.Before(b.Created)
	}
	return a.Key.Name < b.Key.Name
}

// isOlder says whether one version of an object comes before another. One that cannot be read is none that is waited for.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
