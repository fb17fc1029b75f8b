package process

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A6.12: what looks like a secret of the daemon does not reach programs, unless it is let through by its name.
func TestSecretsOfTheDaemonDoNotReachPrograms(t *testing.T) {
	environment := ParseEnvironment([]string{
		"HF_TOKEN=s", "AWS_SECRET_ACCESS_KEY=s", "db_password=s", "MYSQL_PASSWD=s", "GOOGLE_APPLICATION_CREDENTIALS=s", "API_KEY=s", "BASIC_AUTH=s",
		"BearerOfNews=s", "PRIVATE_THING=s", "TLS_CERT=s", "SSL_CERT_FILE=/certs", "PATH=/bin:/usr/bin", "LANG=C", "ODD=a=b", "EMPTY=", "=odd", "odd",
	})
	want := Environment{"PATH": "/bin:/usr/bin", "LANG": "C", "ODD": "a=b", "EMPTY": "", "SSL_CERT_FILE": "/certs"}
	public := environment.Public([]string{"SSL_CERT_FILE", "NOT_THERE"})
	if difference := cmp.Diff(want, public); difference != "" {
		t.Errorf("public (-want +got):\n%s", difference)
	}
	m := newTestManager(func(s *Settings) { s.Environment = public })
	r := begin(t, m, Spec{Command: []string{"env"}, Dir: "/", Env: map[string]string{"MY_TOKEN": "mine", "LANG": "de"}})
	if code, err := r.wait(t); code != 0 || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
	got := strings.Fields(r.stdout.String())
	if difference := cmp.Diff([]string{"EMPTY=", "LANG=de", "MY_TOKEN=mine", "ODD=a=b", "PATH=/bin:/usr/bin", "PWD=/", "SSL_CERT_FILE=/certs"}, got); difference != "" {
		t.Errorf("a program has (-want +got):\n%s", difference)
	}
}
