package usage

import (
	"os"
	"strings"
	"testing"
)

func TestOfThisProcess(t *testing.T) {
	used, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const least = 1 << 20
	if used.PeakSize < least {
		t.Errorf("peak size %d bytes, want more than %d", used.PeakSize, least)
	}
	if used.Size < least || used.Size > used.PeakSize {
		t.Errorf("size %d bytes, want more than %d and no more than the peak, %d", used.Size, least, used.PeakSize)
	}
	if used.CPU < 0 {
		t.Errorf("CPU time %s", used.CPU)
	}
}

func TestOfNoProcess(t *testing.T) {
	if _, err := Of(1 << 30); err == nil || !strings.Contains(err.Error(), "1073741824") {
		t.Errorf("err = %v, want one that names the process", err)
	}
}
