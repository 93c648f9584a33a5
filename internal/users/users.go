// Package users keeps who is let in from elsewhere: their names, their rights, and
// hashes of their tokens. Each has a file of their own below the state directory, which
// agents do not see.
//
// A token is shown once and never kept. It must never let in who has no file, and never
// take a file that it does not understand for somebody.
package users

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/durable"
)

// Right is something that a user may do.
type Right string

const (
	See     Right = "see"     // read all there is of the workspace's plans and runs
	Answer  Right = "answer"  // say what people are asked, unless that lets something happen that nobody approved
	Run     Right = "run"     // start, steer and end runs, and have plans made
	Approve Right = "approve" // say yes to plans, changes, calls and settings, waive steps, vouch for changes, merge, and remove what runs left
)

// Rights are all rights, the least first. Who has any of them may see.
var Rights = []Right{See, Answer, Run, Approve}

// User is somebody who is let in.
type User struct {
	Name   string    `json:"name"`
	Rights []Right   `json:"rights"`
	Token  string    `json:"token"` // SHA-256 of the token in hexadecimal
	Made   time.Time `json:"made"`
	Email  string    `json:"email,omitempty"` // by which a provider knows them, in small letters
}

// May reports whether the user has a right.
func (u User) May(r Right) bool { return r == See || slices.Contains(u.Rights, r) }

// Dir is the directory of the users' files.
type Dir string

// In is the directory of users below a state directory.
func In(state string) Dir { return Dir(filepath.Join(state, "users")) }

// Errors that callers branch on.
var (
	// ErrName says that a name is none that a user can have.
	ErrName = errors.New("a name has 1 to 32 small letters, digits, dots and dashes, and begins with a letter")
	// ErrEmail says that an address is none that a user can have.
	ErrEmail = errors.New("an e-mail address is NAME@HOST, in ASCII, with at most 254 characters")
	// ErrTaken says that another user has an address.
	ErrTaken = errors.New("an e-mail address belongs to one user")
	// ErrUnknown says that there is no such user.
	ErrUnknown = errors.New("no such user")
)

var (
	name = regexp.MustCompile(`^[a-z][a-z0-9.-]{0,31}$`)
	// address is ASCII: some other letters become ASCII when made small, so that two addresses would be one.
	address = regexp.MustCompile(`^[!-?A-~]+@[!-?A-~]+$`)
	// taken are names that the journal has for others than people.
	taken = []string{"agent", "harness", "planner", "policy", "somebody"}
)

const suffix = ".json"

// prefix begins each token, so that a scanner for secrets knows one.
const prefix = "piton_"

// maxFile is how large the file of a user may be, in bytes.
const maxFile = 4 << 10

// maxEmail is how long an address may be, in bytes: RFC 5321, 4.5.3.1.3.
const maxEmail = 254

// Add lets a user in, with a new token, which is returned, and perhaps an e-mail address. One who
// is there already gets these rights and this address; their old token ends. It fails with
// [ErrName], [ErrEmail] or [ErrTaken].
func (d Dir) Add(user string, rights []Right, email string, now time.Time) (token string, err error) {
	if !name.MatchString(user) || slices.Contains(taken, user) {
		return "", ErrName
	}
	if email != "" {
		switch has, err := d.WithEmail(email); {
		case err == nil && has.Name != user:
			return "", fmt.Errorf("%w: %s has %s already", ErrTaken, has.Name, email)
		case err != nil && !errors.Is(err, ErrUnknown):
			return "", err
		}
	}
	token = prefix + rand.Text() + rand.Text()
	u := User{Name: user, Rights: rights, Token: hashOf(token), Made: now.UTC().Truncate(time.Second), Email: strings.ToLower(email)}
	body, err := json.MarshalIndent(u, "", "  ")
	if err == nil {
		err = durable.MakeDir(string(d))
	}
	if err == nil {
		err = durable.Replace(d.file(user), append(body, '\n'), 0o600, nil)
	}
	if err != nil {
		return "", fmt.Errorf("keep the user: %w", err)
	}
	return token, nil
}

// Remove lets a user in no more, at once. It fails with [ErrUnknown].
func (d Dir) Remove(user string) error {
	if !name.MatchString(user) {
		return ErrUnknown
	}
	err := os.Remove(d.file(user))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrUnknown
	}
	if err == nil {
		err = durable.SyncDir(string(d))
	}
	return err
}

// Named is a user by name. It fails with [ErrUnknown].
func (d Dir) Named(user string) (User, error) {
	if !name.MatchString(user) {
		return User{}, ErrUnknown
	}
	body, err := durable.ReadFile(d.file(user), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return User{}, ErrUnknown
	}
	var u User
	if err == nil {
		err = json.Unmarshal(body, &u)
	}
	if err == nil && (u.Name != user || len(u.Token) != hex.EncodedLen(sha256.Size) || u.Email != "" && !isEmail(u.Email) || slices.ContainsFunc(u.Rights, unknown)) {
		err = errors.New("it is not as it was written")
	}
	if err != nil {
		return User{}, fmt.Errorf("read the file of user %s: %w", user, err)
	}
	return u, nil
}

func unknown(r Right) bool { return !slices.Contains(Rights, r) }

// All are the users, by name.
func (d Dir) All() ([]User, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the users: %w", err)
	}
	var all []User
	var failed error
	for _, e := range entries {
		user, is := strings.CutSuffix(e.Name(), suffix)
		if !is || !name.MatchString(user) {
			continue // being written
		}
		u, err := d.Named(user)
		if errors.Is(err, ErrUnknown) {
			continue // removed meanwhile
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, u)
	}
	return all, failed
}

// WithToken is the user who has a token. It fails with [ErrUnknown].
func (d Dir) WithToken(token string) (User, error) {
	all, err := d.All()
	found, is := hashOf(token), -1
	for i, u := range all {
		if subtle.ConstantTimeCompare([]byte(u.Token), []byte(found)) == 1 {
			is = i
		}
	}
	if is < 0 || !strings.HasPrefix(token, prefix) {
		return User{}, cmp.Or(err, ErrUnknown)
	}
	return all[is], nil
}

// WithEmail is the user who has an address. Letters may be large or small. It fails with
// [ErrUnknown]; with [ErrEmail] where nobody can have it; with [ErrTaken] where two users have it;
// or with why a user's file cannot be read.
func (d Dir) WithEmail(email string) (User, error) {
	if !isEmail(email) {
		return User{}, ErrEmail
	}
	all, err := d.All()
	found, is := User{}, false
	for _, u := range all {
		switch {
		case !strings.EqualFold(u.Email, email):
		case is:
			return User{}, fmt.Errorf("%w, but %s and %s have %s", ErrTaken, found.Name, u.Name, email)
		default:
			found, is = u, true
		}
	}
	if !is {
		return User{}, cmp.Or(err, ErrUnknown)
	}
	return found, nil
}

func isEmail(email string) bool { return len(email) <= maxEmail && address.MatchString(email) }

func (d Dir) file(user string) string { return filepath.Join(string(d), user+suffix) }

// hashOf is what is kept of a token. It is random and long, so that a plain hash is enough.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
