package target

import "net/netip"

// Loopback says whether loopback addresses are taken for those of Pods.
type Loopback int

const (
	// RefuseLoopback : a loopback address is the router's own machine, where no Pod is.
	RefuseLoopback Loopback = iota
	// AllowLoopback : sandboxes stand beside the router.
	AllowLoopback
)

// CanBePod says whether a Pod can have that address: none that means this machine, this link, many machines or none, in whatever form it
// is written. Loopback passes where it is allowed.
func CanBePod(address netip.Addr, loopback Loopback) bool {
	if address.Zone() != "" {
		return false
	}
	address = embedded(address.Unmap())
	switch {
	case !address.IsValid(), address.IsUnspecified(), address.IsMulticast(), address.IsLinkLocalUnicast(), address == broadcast():
		return false
	case address.IsLoopback():
		return loopback == AllowLoopback
	default:
		return true
	}
}

func broadcast() netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, 255}) }

// embedded is the IPv4 address that a translator of the network would make of an IPv6 address; other addresses are returned as they are.
func embedded(address netip.Addr) netip.Addr {
	const at = 12
	if !address.Is6() || address.IsLoopback() || address.IsUnspecified() {
		return address
	}
	for _, prefix := range translated() {
		if prefix.Contains(address) {
			bytes := address.As16()
			return netip.AddrFrom4([4]byte(bytes[at:]))
		}
	}
	return address
}

// translated are the prefixes of RFC 6052 (NAT64) and RFC 4291 (IPv4-compatible addresses).
func translated() []netip.Prefix {
	const bits = 96
	return []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0x00, 0x64, 0xff, 0x9b}), bits),
		netip.PrefixFrom(netip.IPv6Unspecified(), bits),
	}
}
