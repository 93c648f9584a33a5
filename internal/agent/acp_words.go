package agent

import (
	"bytes"
	"encoding/json"
)

// What of the Agent Client Protocol is spoken here: https://agentclientprotocol.com. Keys that
// are not read are left out.

const acpVersion = 1

// Methods of the protocol.
const (
	acpInitialize = "initialize"
	acpNew        = "session/new"
	acpPrompt     = "session/prompt"
	acpSetMode    = "session/set_mode"
	acpSetOption  = "session/set_config_option"
	acpCancel     = "session/cancel"
	acpPermission = "session/request_permission"
)

type acpHello struct {
	Version      int             `json:"protocolVersion"`
	Capabilities acpCapabilities `json:"clientCapabilities"`
	Client       acpClientInfo   `json:"clientInfo"`
}

// acpCapabilities are what an agent may ask for beside permissions: nothing. Files and terminals
// are not offered: an agent uses its own, inside its boundary.
type acpCapabilities struct {
	Files struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

type acpClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type acpWelcome struct {
	Version int `json:"protocolVersion"`
	Logins  []struct {
		Name string `json:"name"`
	} `json:"authMethods"`
}

type acpNewSession struct {
	Dir     string      `json:"cwd"`
	Servers []acpServer `json:"mcpServers"`
}

// acpServer is an MCP server that the agent starts.
type acpServer struct {
	Name    string        `json:"name"`
	Command string        `json:"command"`
	Args    []string      `json:"args"`
	Env     []acpVariable `json:"env"`
}

type acpVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type acpSession struct {
	ID    string `json:"sessionId"`
	Modes *struct {
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Options []acpOption `json:"configOptions"`
}

// acpOption is a choice that the session has. Its values may be in groups.
type acpOption struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Category string `json:"category"`
	Values   []struct {
		Value string `json:"value"`
		Group []struct {
			Value string `json:"value"`
		} `json:"options"`
	} `json:"options"`
}

type acpSetModeOf struct {
	Session string `json:"sessionId"`
	Mode    string `json:"modeId"`
}

type acpSetOptionOf struct {
	Session string `json:"sessionId"`
	Option  string `json:"configId"`
	Value   string `json:"value"`
}

type acpPromptOf struct {
	Session string    `json:"sessionId"`
	Prompt  []acpText `json:"prompt"`
}

type acpText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type acpCancelOf struct {
	Session string `json:"sessionId"`
}

type acpTurn struct {
	Stop string `json:"stopReason"`
}

// Reasons for which a turn ends.
const (
	stopEnd       = "end_turn"
	stopCancelled = "cancelled"
)

type acpAsk struct {
	Call    acpCall     `json:"toolCall"`
	Options []acpAnswer `json:"options"`
}

type acpAnswer struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// Kinds of answers.
const (
	allowOnce    = "allow_once"
	allowAlways  = "allow_always"
	rejectOnce   = "reject_once"
	rejectAlways = "reject_always"
)

// acpCall is what an agent would do.
type acpCall struct {
	Title     string        `json:"title"`
	Kind      string        `json:"kind"`
	RawInput  any           `json:"rawInput"`
	Locations []acpLocation `json:"locations"`
	Content   []acpContent  `json:"content"`
}

type acpLocation struct {
	Path string `json:"path"`
}

// acpContent is a text, or a file with the text that it would have.
type acpContent struct {
	Type    string          `json:"type"`
	Path    string          `json:"path"`
	NewText string          `json:"newText"`
	Content json.RawMessage `json:"content"`
}

// text is that of a content, "" where it has none.
func (c acpContent) text() string {
	var x acpText
	if body := bytes.TrimSpace(c.Content); len(body) == 0 || json.Unmarshal(body, &x) != nil {
		return ""
	}
	return x.Text
}

type acpPermitted struct {
	Outcome acpOutcome `json:"outcome"`
}

// acpOutcome is the answer that was chosen, or that nobody waits for one.
type acpOutcome struct {
	Outcome string `json:"outcome"`
	ID      string `json:"optionId,omitempty"`
}

func chosen(id string) acpPermitted { return acpPermitted{acpOutcome{"selected", id}} }

var nobody = acpPermitted{acpOutcome{Outcome: stopCancelled}}
