package sim

import (
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/agent-sandbox/extensions/cmd/controller/controllers"
)

// watchedMembers see to it that nobody is handed a member that this process has taken already: a pick is a reservation, which an
// event of the member ends, and never the mere success of its commit.
type watchedMembers struct {
	controllers.Members
	by *process
}

func watchful(p *process, c *controllers.Candidates) controllers.Members {
	members := controllers.Members(c)
	if p.world.mutant.members != nil {
		members = p.world.mutant.members(members)
	}
	return watchedMembers{Members: members, by: p}
}

// Take hands out a member.
func (m watchedMembers) Take(pool types.UID, fits func(controllers.Member) bool) (controllers.Member, bool) {
	member, ok := m.Members.Take(pool, fits)
	if ok && m.by.won[member.UID] && m.by.ctx.Err() == nil {
		m.by.world.fail("%s hands out Sandbox %q, which it has taken before", m.by.id, member.Key.Name)
	}
	if ok && m.by.ctx.Err() == nil {
		m.by.picked[member.UID] = true
	}
	return member, ok
}
