package api

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/verify"
)

// kin is what is known of the plans around one before it is read.
type kin struct {
	above  []string          // paths of those that delegate to it, the outermost first
	pinned map[string][]byte // bytes of sub-plans that hold whatever their files say now
}

// verify verifies a plan with all that it delegates to, each document once. The
// findings of those stand behind its own.
func (p *Product) verify(ctx context.Context, path string, source []byte, k kin) *Document {
	root := p.look(ctx, path, source)
	root.kin = map[string]*Document{}
	names, unread := p.descend(ctx, root, k)
	root.judge(verdicts{verify.Descent(root.Rel, k.above, names), unread})
	for _, rel := range slices.Sorted(maps.Keys(root.kin)) {
		if d := root.kin[rel]; d != root {
			root.Findings = append(root.Findings, d.Findings...)
		}
	}
	return root
}

// descend reads all that root delegates to. It returns which document delegates
// to which, and why some cannot be read.
func (p *Product) descend(ctx context.Context, root *Document, k kin) (names map[string][]string, unread map[string]string) {
	names, unread = map[string][]string{}, map[string]string{}
	for next := []*Document{root}; len(next) > 0; next = next[1:] {
		d := next[0]
		if d.Plan == nil {
			continue
		}
		names[d.Rel] = verify.Delegates(d.Plan)
		for _, rel := range names[d.Rel] {
			if rel == root.Rel || root.kin[rel] != nil || unread[rel] != "" {
				continue
			}
			source, why := p.subplan(rel, k, d.Facts)
			if why != "" {
				unread[rel] = why
			}
			if source != nil {
				child := p.look(ctx, p.near(p.file(rel)), source)
				child.Rel, child.kin = rel, root.kin
				root.kin[rel] = child
				next = append(next, child)
			}
		}
	}
	return names, unread
}

// subplan reads a document that a step is delegated to: nothing where it is not
// there, or where why says why it cannot be read.
func (p *Product) subplan(rel string, k kin, f verify.Facts) (source []byte, why string) {
	if source, ok := k.pinned[rel]; ok {
		return source, ""
	}
	file := p.file(rel)
	switch at, known := f.Files[rel]; {
	case known && (at.Dir || !at.Exists):
		return nil, ""
	case project.Written(rel):
		return nil, "it only shows what a run has made of its plan"
	case !filepath.IsLocal(filepath.FromSlash(p.relative(file))):
		return nil, "it is a link that leads out of the workspace"
	}
	source, err := p.readFile(file)
	if err != nil {
		return nil, err.Error()
	}
	return source, ""
}

// verdicts is what is wrong with the way in which documents delegate to others.
type verdicts struct {
	descent map[string]map[string]verify.Subplan // by document, and by that which it delegates to
	unread  map[string]string
}

// judge gives the document its findings, after those that it delegates to.
func (d *Document) judge(v verdicts) {
	d.judged = true
	if d.Plan != nil {
		d.Facts.Plans = map[string]verify.Subplan{}
		for _, rel := range verify.Delegates(d.Plan) {
			d.Facts.Plans[rel] = d.subplan(rel, v)
		}
	}
	d.check()
}

func (d *Document) subplan(rel string, v verdicts) verify.Subplan {
	s := v.descent[d.Rel][rel]
	child := d.kin[rel]
	if child == nil || s != (verify.Subplan{}) {
		s.Unread = v.unread[rel]
		return s
	}
	d.Facts.Files[rel] = verify.File{Exists: true} // it may be pinned, and gone
	if !child.judged {
		child.judge(v)
	}
	s.Errors, _ = child.counts()
	if child.Plan != nil {
		s.Budget, s.Itemless = child.Plan.Budget.Value, child.itemless()
		s.Replans = slices.ContainsFunc(child.Plan.Steps, func(st *plan.Step) bool { return st.OnFail.Value.Then == plan.Replan })
	}
	return s
}

// itemless reports whether nothing in the document, or in what it delegates to,
// names the item that it may be run for. What is not there yet may.
func (d *Document) itemless() bool {
	if bytes.Contains(d.Source, []byte(engine.ItemVariable)) {
		return false
	}
	for _, sub := range d.Facts.Plans {
		if !sub.Itemless {
			return false
		}
	}
	return true
}
