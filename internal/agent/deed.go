package agent

import "github.com/piton-dev/piton/internal/engine"

// Deed is one thing that an agent did while it worked, as its own output tells it: a
// claim, which people look at and which moves nothing. What every agent prints is read
// into deeds, whatever its form.
type Deed struct {
	Type DeedType
	// ID names a call. A call may be told twice: as it begins, and with Done as it ended.
	ID   string
	Tool ToolKind // of a call, and of what was refused
	Name string   // of the tool, in the agent's word
	// Target is what a call is about: a path, a command, a pattern, an address.
	Target string
	Text   string // what was said; what went wrong; why it was refused
	Piece  bool   // of a message, which goes on with the next one
	Done   bool   // the call has ended
	Failed bool   // and not well
	Exit   *int   // of a command, where the agent tells it
	// Plus and Minus are lines that a call added and took away, where the agent tells them.
	Plus, Minus *int
	Usage       engine.Usage // of a Deed of type [Used]
}

// DeedType says what an agent did.
type DeedType string

const (
	Started DeedType = "started"
	SaidIt  DeedType = "said" // a message, or a piece of one
	Called  DeedType = "call"
	Refused DeedType = "refused" // it was not allowed to make a call
	Used    DeedType = "usage"
	Erred   DeedType = "error"
	Over    DeedType = "ended"
)

// ToolKind says what kind of thing a call does.
type ToolKind string

const (
	Read   ToolKind = "read"
	Edit   ToolKind = "edit"
	Write  ToolKind = "write"
	RunIt  ToolKind = "run"
	Search ToolKind = "search"
	Fetch  ToolKind = "fetch"
	Other  ToolKind = "other"
)

// toolKinds are the words that agents have for tools, in small letters and without marks
// between their words.
var toolKinds = map[string]ToolKind{
	"read": Read, "readfile": Read, "view": Read, "readmanyfiles": Read, "readfiles": Read, "notebookread": Read, "open": Read,
	"edit": Edit, "replace": Edit, "multiedit": Edit, "strreplace": Edit, "applypatch": Edit, "patch": Edit, "notebookedit": Edit,
	"filechange": Edit, "editor": Edit, "replaceinfile": Edit, "delete": Edit, "move": Edit,
	"write": Write, "writefile": Write, "create": Write, "createfile": Write, "writetofile": Write,
	"bash": RunIt, "shell": RunIt, "execcommand": RunIt, "shellcommand": RunIt, "runshellcommand": RunIt, "commandexecution": RunIt,
	"runcommands": RunIt, "executecommand": RunIt, "localshell": RunIt, "execute": RunIt, "powershell": RunIt,
	"grep": Search, "glob": Search, "search": Search, "searchfilecontent": Search, "grepsearch": Search, "ls": Search, "list": Search,
	"listdirectory": Search, "find": Search, "searchcodebase": Search, "searchfiles": Search, "rg": Search, "toolsearch": Search,
	"webfetch": Fetch, "fetch": Fetch, "websearch": Fetch, "googlewebsearch": Fetch, "fetchurl": Fetch, "fetchwebcontent": Fetch,
}

// KindOf is what kind of thing a tool does, by an agent's name for it.
func KindOf(tool string) ToolKind {
	key := make([]byte, 0, len(tool))
	for i := 0; i < len(tool) && i < 40; i++ {
		switch c := tool[i]; {
		case c >= 'A' && c <= 'Z':
			key = append(key, c+'a'-'A')
		case c >= 'a' && c <= 'z':
			key = append(key, c)
		}
	}
	if kind, ok := toolKinds[string(key)]; ok {
		return kind
	}
	return Other
}
