package program

import (
	"strings"
	"testing"
	"time"
)

func TestFlagsOutOfBoundsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*flags){
		"--sandbox-concurrent-workers=0: must be above 0":                           func(f *flags) { f.workers = 0 },
		"--sandbox-write-behind-window=-1s: must be 0 or above":                     func(f *flags) { f.writeBehind = -time.Second },
		`--cluster-domain="": must be a DNS name, as cluster.local: `:               func(f *flags) { f.clusterDomain = "" },
		`--cluster-domain="cluster.local.": must be a DNS name, as cluster.local: `: func(f *flags) { f.clusterDomain = "cluster.local." },
		`--cluster-domain="Cluster_Local": must be a DNS name, as cluster.local: `:  func(f *flags) { f.clusterDomain = "Cluster_Local" },
	} {
		f := newFlags()
		change(f)
		if err := f.validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := newFlags().validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}
