package page

import (
	"strings"
	"testing"
)

// shownAs writes the lines of a difference with their marks: {kind text}, [del], (ins).
func shownAs(all []Difference) string {
	var b strings.Builder
	for _, d := range all {
		b.WriteString("== " + d.Path + "\n")
		for _, l := range d.Lines {
			b.WriteString(l.Old + ":" + l.New + ":" + l.Sign + l.Tone + ": ")
			for _, p := range l.Parts {
				text := p.Text
				if p.Kind != "" {
					text = "{" + p.Kind + " " + text + "}"
				}
				switch p.Mark {
				case "del":
					text = "[" + text + "]"
				case "ins":
					text = "(" + text + ")"
				}
				b.WriteString(text)
			}
			b.WriteString("\n")
		}
		b.WriteString(d.More)
	}
	return b.String()
}

func TestDifferences(t *testing.T) {
	text := `diff --git a/worker/capture.go b/worker/capture.go
index 1..2 100644
--- a/worker/capture.go
+++ b/worker/capture.go
@@ -45,4 +45,5 @@ func (w *Worker) handle()
 	// before /* is
-	key := idem.NewKey(time.Now())
-	_, err = w.Capture(ctx, ev.PaymentID, 12)
+	key, err := idem.FromDelivery(d)
+	_, err = w.Capture(ctx, ev.PaymentID, key, 12)
 	/* two
-	   lines */ return nil
+	   lines */ return "it's" + ` + "`a" + `
+	b` + "`" + `
diff --git a/notes b/notes
new file mode 100644
--- /dev/null
+++ b/notes
@@ -0,0 +1 @@
+for if "all"
\ No newline at end of file
diff --git a/pic.png b/pic.png
Binary files a/pic.png and b/pic.png differ
`
	files := []FileChanged{{"worker/capture.go", 3, 3}, {"notes", 1, 0}, {"pic.png", -1, -1}}
	want := `== worker/capture.go
::hk: @@ -45,4 +45,5 @@ func (w *Worker) handle()
45:45:: 	{com // before /* is}
46::−d: 	key := idem.[NewKey(time.Now]([)])
47::−d: 	_, err = w.Capture(ctx, ev.PaymentID, {lit 12})
:46:+a: 	key(,) (err ):= idem.(FromDelivery)((d))
:47:+a: 	_, err = w.Capture(ctx, ev.PaymentID, (key, ){lit 12})
48:48:: 	{com /* two}
49::−d: {com 	   lines */} {kw return} {kw nil}
:49:+a: {com 	   lines */} {kw return} {str "it's"} + {str ` + "`a" + `}
:50:+a: {str 	b` + "`" + `}
== notes
::hk: new file mode 100644
::hk: @@ -0,0 +1 @@
:1:+a: for if "all"
::hk: \ No newline at end of file
== pic.png
::hk: Binary files a/pic.png and b/pic.png differ
`
	if got := shownAs(differences(text, files)); got != want {
		t.Errorf("the difference is\n%s\nwant\n%s", got, want)
	}
}

// All of a line is there, whatever it is.
func FuzzCode(f *testing.F) {
	for _, l := range []string{"x := \"a\\", "'", "/* a */ b // c", "```", "# it's", "select 'x' -- y", "<!-- a", "é\xff\x00'", strings.Repeat("a ", 300)} {
		f.Add(l, l+"b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		gone, come := words(a, b)
		for _, lang := range []*language{nil, curly, hash, dash, angle, sheetOf} {
			for l, marks := range map[string][][2]int{a: gone, b: come} {
				c := coder{lang: lang}
				for range 2 { // what is open goes on
					var got strings.Builder
					for _, p := range c.parts(l, marks, "ins") {
						got.WriteString(p.Text)
					}
					if got.String() != l {
						t.Fatalf("%q became %q", l, got.String())
					}
				}
			}
		}
	})
}

// Of a very long difference the end is left out, and that is said.
func TestLongDifference(t *testing.T) {
	text := "diff --git a/a b/a\n@@ -0,0 +1,5000 @@\n" + strings.Repeat("+x\n", 5000) + "diff --git a/b b/b\n@@ -0,0 +1 @@\n+y\n"
	all := differences(text, []FileChanged{{"a", 5000, 0}, {"b", 1, 0}})
	if len(all) != 2 || len(all[0].Lines) != maxDiff || all[0].More != "… 1001 more lines; piton diff shows all" || len(all[1].Lines) != 0 || all[1].More == "" {
		t.Errorf("%d files; the first has %d lines, and %q", len(all), len(all[0].Lines), all[0].More)
	}
}
