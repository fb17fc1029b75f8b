package apidocs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Constant is one string constant of an API package.
type Constant struct {
	// Name is the Go name, Value what objects hold.
	Name, Value string
	// Type is that of an enumerated field; empty for a plain string.
	Type string
	// Meaning is the comment, without the name at its beginning.
	Meaning string
}

// Group is a block of constants.
type Group struct {
	// Title is the first sentence of its comment, Rest what follows.
	Title, Rest string
	Constants   []Constant
}

// apiPackage is what the sources of an API package declare.
type apiPackage struct {
	groups []Group
	// types are the comments of the enumerated types, whose names are in typeNames in the order of the sources.
	types     map[string]string
	typeNames []string
	// expressions are the values of the constants, by their names; imported are those of the packages that it imports, as
	// "alias.Name".
	expressions map[string]ast.Expr
	imported    map[string]string
}

// parsePackage reads the sources below dir. A constant without a comment is an error, and so is one that the reference should have and
// that stands in no block.
func parsePackage(root fs.FS, dir string, imported map[string]string) (*apiPackage, error) {
	files, err := fs.Glob(root, path.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no sources", dir)
	}
	parsed := &apiPackage{types: map[string]string{}, expressions: map[string]ast.Expr{}, imported: imported}
	var blocks []*ast.GenDecl
	for _, file := range files {
		if base := path.Base(file); strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "zz_generated.") {
			continue
		}
		content, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parsing an API package: %w", err)
		}
		blocks = append(blocks, parsed.declarations(source)...)
	}
	for _, block := range blocks {
		if err := parsed.addGroup(block); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return parsed, nil
}

// declarations notes the constants and types of a file, and returns its const declarations.
func (p *apiPackage) declarations(source *ast.File) []*ast.GenDecl {
	var blocks []*ast.GenDecl
	for _, declaration := range source.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch typed := spec.(type) {
			case *ast.ValueSpec:
				if general.Tok == token.CONST {
					p.note(typed)
				}
			case *ast.TypeSpec:
				if basic, ok := typed.Type.(*ast.Ident); ok && basic.Name == "string" {
					p.types[typed.Name.Name] = meaning(typed.Name.Name, general.Doc)
					p.typeNames = append(p.typeNames, typed.Name.Name)
				}
			}
		}
		if general.Tok == token.CONST {
			blocks = append(blocks, general)
		}
	}
	return blocks
}

func (p *apiPackage) note(spec *ast.ValueSpec) {
	for n, name := range spec.Names {
		if n < len(spec.Values) {
			p.expressions[name.Name] = spec.Values[n]
		}
	}
}

// inReference are the names of constants that a reader of the reference looks for.
var inReference = regexp.MustCompile(`^(Condition|Reason|Event|Label|Annotation)[A-Z]`)

func (p *apiPackage) addGroup(block *ast.GenDecl) error {
	var group Group
	group.Title, group.Rest, _ = strings.Cut(sentenceOf(block.Doc), ". ")
	group.Title = strings.TrimSuffix(group.Title, ".")
	for _, spec := range block.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || len(value.Names) != 1 {
			return errors.New("a const declaration names several constants at once: give each a line")
		}
		name := value.Names[0].Name
		if !block.Lparen.IsValid() {
			if inReference.MatchString(name) {
				return fmt.Errorf("%s stands in no block of constants, whose comment says what they are for", name)
			}
			return nil
		}
		constant, err := p.constant(name, value)
		if err != nil {
			return err
		}
		group.Constants = append(group.Constants, constant)
	}
	p.groups = append(p.groups, group)
	return nil
}

func (p *apiPackage) constant(name string, spec *ast.ValueSpec) (Constant, error) {
	value, err := p.resolve(p.expressions[name])
	if err != nil {
		return Constant{}, fmt.Errorf("the value of %s: %w", name, err)
	}
	constant := Constant{Name: name, Value: value, Meaning: meaning(name, spec.Doc)}
	if constant.Meaning == "" {
		return Constant{}, fmt.Errorf("%s has no comment that says what it means", name)
	}
	if typed, ok := spec.Type.(*ast.Ident); ok {
		constant.Type = typed.Name
	}
	return constant, nil
}

// resolve is the value of an expression of string literals and constants.
func (p *apiPackage) resolve(expression ast.Expr) (string, error) {
	switch typed := expression.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(typed.Value)
	case *ast.BinaryExpr:
		left, err := p.resolve(typed.X)
		if err != nil {
			return "", err
		}
		right, err := p.resolve(typed.Y)
		return left + right, err
	case *ast.Ident:
		if other, ok := p.expressions[typed.Name]; ok {
			return p.resolve(other)
		}
	case *ast.SelectorExpr:
		if alias, ok := typed.X.(*ast.Ident); ok {
			if value, ok := p.imported[alias.Name+"."+typed.Sel.Name]; ok {
				return value, nil
			}
		}
	}
	return "", errors.New("it is no string of literals and constants")
}

// values are those of all constants, by their names behind the prefix.
func (p *apiPackage) values(prefix string) (map[string]string, error) {
	all := map[string]string{}
	for name, expression := range p.expressions {
		value, err := p.resolve(expression)
		if err != nil {
			return nil, fmt.Errorf("the value of %s: %w", name, err)
		}
		all[prefix+name] = value
	}
	return all, nil
}

// meaning is a comment on one line, without the name that it begins with.
func meaning(name string, doc *ast.CommentGroup) string {
	text, named := strings.CutPrefix(sentenceOf(doc), name)
	if named {
		text = strings.TrimPrefix(strings.TrimSpace(text), ":")
	}
	return strings.TrimSpace(text)
}

// sentenceOf is a comment on one line, without the markers for generators.
func sentenceOf(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var words []string
	for line := range strings.Lines(doc.Text()) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "+") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}
