package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
)

const (
	// outputWide is the form of a table with all columns.
	outputWide = "wide"
	// outputName is that of names alone, of which a list as such has none.
	outputName = "name"
)

// output is what -o says.
type output struct {
	flags *genericclioptions.PrintFlags
	// tables says that there is a form for people that is a table.
	tables    bool
	noHeaders bool
}

// newOutput is for commands that do something: for people they say that it is done.
func newOutput(operation string) *output {
	return &output{flags: genericclioptions.NewPrintFlags(operation)}
}

// newTables is for commands that show something.
func newTables() *output {
	return &output{flags: genericclioptions.NewPrintFlags(""), tables: true}
}

func (o *output) add(cmd *cobra.Command) {
	o.flags.AddFlags(cmd)
	formats := o.flags.AllowedFormats()
	if o.tables {
		formats = append([]string{outputWide}, formats...)
		cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Print tables without the line of headers.")
	}
	cmd.Flags().Lookup("output").Usage = "Form of the output: " + strings.Join(formats, "|") + "."
	for _, rare := range []string{"allow-missing-template-keys", "show-managed-fields", "template"} {
		cmd.Flags().Lookup(rare).Hidden = true
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	// What cannot be said is not done.
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.validate() }
}

func (o *output) validate() error {
	if o.forPeople() {
		return nil
	}
	if _, err := o.flags.ToPrinter(); err != nil {
		return UsageError{err}
	}
	return nil
}

// forPeople reports whether no form for programs is asked for.
func (o *output) forPeople() bool {
	return *o.flags.OutputFormat == "" || o.tables && *o.flags.OutputFormat == outputWide
}

// print writes an object or a list in the form that is asked for. success is what was done, with %s for the operation.
func (t *tool) print(o *output, object runtime.Object, success string) error {
	scheme, err := cluster.NewScheme()
	if err != nil {
		return err
	}
	if err := setKinds(object, scheme); err != nil {
		return err
	}
	if err := o.flags.Complete(success); err != nil {
		return err
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return UsageError{err}
	}
	write := func(object runtime.Object) error { return printer.PrintObj(object, t.Streams.Out) }
	if meta.IsListType(object) && *o.flags.OutputFormat == outputName {
		err = meta.EachListItem(object, write)
	} else {
		err = write(object)
	}
	if err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// setKinds puts apiVersion and kind into an object and the items of a list, which a client leaves out.
func setKinds(object runtime.Object, scheme *runtime.Scheme) error {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return fmt.Errorf("finding the kind of an object: %w", err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	if !meta.IsListType(object) {
		return nil
	}
	return meta.EachListItem(object, func(item runtime.Object) error { return setKinds(item, scheme) })
}

// show writes a list: for people as the table, else in the form that is asked for. Nothing to show is said on standard error.
func (t *tool) show(o *output, list client.ObjectList, table *metav1.Table, everywhere namespaces) error {
	if !o.forPeople() {
		return t.print(o, list, "%s")
	}
	if len(table.Rows) == 0 {
		fmt.Fprintf(t.Streams.ErrOut, "There is none in %s.\n", everywhere)
		return nil
	}
	printer := printers.NewTablePrinter(printers.PrintOptions{
		Wide: *o.flags.OutputFormat == outputWide, NoHeaders: o.noHeaders, WithNamespace: everywhere == allNamespaces,
	})
	if err := printer.PrintObj(table, t.Streams.Out); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// namespaces is where a command looks.
type namespaces string

// allNamespaces is everywhere.
const allNamespaces namespaces = ""

// String says where that is.
func (n namespaces) String() string {
	if n == allNamespaces {
		return "any namespace"
	}
	return fmt.Sprintf("namespace %q", string(n))
}
