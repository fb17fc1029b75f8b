package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

func TestKindOf(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"what the daemon chose counts":              {fault.New(fault.Premature, "too early"), fault.Premature},
		"what the daemon chose counts when wrapped": {fmt.Errorf("starting: %w", fault.New(fault.Late, "late")), fault.Late},
		"a deadline":                                   {fmt.Errorf("waiting: %w", context.DeadlineExceeded), fault.Late},
		"a file that is not there":                     {&fs.PathError{Op: "open", Path: "a", Err: syscall.ENOENT}, fault.NotFound},
		"a file of somebody else":                      {&fs.PathError{Op: "open", Path: "a", Err: syscall.EACCES}, fault.Forbidden},
		"a file system that is mounted for reading":    {&fs.PathError{Op: "open", Path: "a", Err: syscall.EROFS}, fault.Forbidden},
		"a directory that is not empty":                {&fs.PathError{Op: "unlink", Path: "a", Err: syscall.ENOTEMPTY}, fault.Conflict},
		"a file where a directory should be":           {&fs.PathError{Op: "open", Path: "a/b", Err: syscall.ENOTDIR}, fault.Conflict},
		"a name that is too long":                      {&fs.PathError{Op: "open", Path: "a", Err: syscall.ENAMETOOLONG}, fault.Invalid},
		"links that go in circles":                     {&fs.PathError{Op: "open", Path: "a", Err: syscall.ELOOP}, fault.Invalid},
		"a disk that is full":                          {&os.LinkError{Op: "rename", Err: syscall.ENOSPC}, fault.Unavailable},
		"a disk that breaks":                           {&fs.PathError{Op: "read", Path: "a", Err: syscall.EIO}, fault.Internal},
		"an error without a number":                    {fs.ErrNotExist, fault.NotFound},
		"a permission without a number":                {fs.ErrPermission, fault.Forbidden},
		"an existence without a number":                {fs.ErrExist, fault.Conflict},
		"an argument that makes no sense to a library": {fs.ErrInvalid, fault.Invalid},
		"what was closed, for the daemon ends":         {fs.ErrClosed, fault.Unavailable},
		"a socket that was to be read":                 {&fs.PathError{Op: "open", Path: "a", Err: syscall.ENXIO}, fault.Invalid},
		"anything else":                                {errors.New("no idea"), fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fault.KindOf(test.err); got != test.want {
				t.Errorf("%v is of kind %d, want %d", test.err, got, test.want)
			}
		})
	}
}
