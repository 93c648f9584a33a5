package effect

import "sync"

// texts are the prompts of work that is about to begin, so that its beginning
// need not wait for the journal to read back what was just written. Each is
// handed out once. It is safe for concurrent use.
type texts struct {
	mu     sync.Mutex
	byHash map[string]string
}

// maxTexts bounds the texts of work that never began.
const maxTexts = 256

func (t *texts) put(hash, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHash == nil || len(t.byHash) >= maxTexts {
		t.byHash = map[string]string{}
	}
	t.byHash[hash] = text
}

func (t *texts) take(hash string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, ok := t.byHash[hash]
	delete(t.byHash, hash)
	return text, ok
}
