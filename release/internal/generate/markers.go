package generate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

const marker = "+kubebuilder:rbac:"

// checkMarkers returns an error for every RBAC marker inside a declaration's doc comment: controller-gen passes
// over those without a word, and the role would lack a rule that its code needs.
func checkMarkers(module fs.FS) error {
	var misplaced []error
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		content, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, position := range misplacedMarkers(file) {
			misplaced = append(misplaced, fmt.Errorf("%s: RBAC marker in a doc comment, which controller-gen ignores: put an empty line after the markers", files.Position(position)))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("looking for misplaced RBAC markers: %w", err)
	}
	return errors.Join(misplaced...)
}

func misplacedMarkers(file *ast.File) []token.Pos {
	var positions []token.Pos
	for _, declaration := range file.Decls {
		var doc *ast.CommentGroup
		switch typed := declaration.(type) {
		case *ast.FuncDecl:
			doc = typed.Doc
		case *ast.GenDecl:
			doc = typed.Doc
		}
		if doc == nil {
			continue
		}
		for _, comment := range doc.List {
			if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")), marker) {
				positions = append(positions, comment.Pos())
			}
		}
	}
	return positions
}
