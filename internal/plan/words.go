package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDuration is the longest duration that a plan may ask for.
const maxDuration = 366 * 24 * time.Hour

// ParseDuration reads "10m", "90s", "1h30m", "1h 30m", "1.5 hours", "10
// minutes", "2 days" or "250ms". A number needs a unit; the result is more than
// zero and at most 366 days. Parts below a millisecond are an error.
func ParseDuration(s string) (time.Duration, error) {
	rest := strings.ToLower(trimmed(s))
	if rest == "" {
		return 0, errors.New("no duration")
	}
	var total time.Duration
	for rest != "" {
		number, after := takeNumber(rest)
		after = strings.TrimLeft(after, white)
		unit, after := takeLetters(after)
		size := unitOf(unit)
		switch {
		case number == "":
			return 0, fmt.Errorf("%q is not a duration", s)
		case size == 0 && unit == "":
			return 0, fmt.Errorf("%q has no unit", s)
		case size == 0:
			return 0, fmt.Errorf("%q is not a unit of time", unit)
		}
		n, err := scaled(number, int64(size))
		if err != nil || n%int64(time.Millisecond) != 0 {
			return 0, fmt.Errorf("%q is not a duration that can be measured", s)
		}
		if total += time.Duration(n); n > int64(maxDuration) || total > maxDuration {
			return 0, fmt.Errorf("%q is more than 366 days", s)
		}
		rest = strings.TrimLeft(after, white)
		rest = strings.TrimPrefix(rest, "and ")
	}
	if total == 0 {
		return 0, fmt.Errorf("%q is no time at all", s)
	}
	return total, nil
}

func unitOf(s string) time.Duration {
	switch s {
	case "ms", "millisecond", "milliseconds":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	}
	return 0
}

// FormatDuration writes a duration as a plan does: "1h30m", "90s" as "1m30s".
// Parts below a millisecond are left out.
func FormatDuration(d time.Duration) string {
	var out strings.Builder
	for _, u := range [...]struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if n := d / u.size; n > 0 {
			out.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d %= u.size
		}
	}
	if out.String() == "" {
		return "0s"
	}
	return out.String()
}

// takeNumber splits digits with at most one point off the start of s.
func takeNumber(s string) (number, rest string) {
	n, point := 0, false
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.' && !point && n > 0) {
		point = point || s[n] == '.'
		n++
	}
	return s[:n], s[n:]
}

func takeLetters(s string) (letters, rest string) {
	n := 0
	for n < len(s) && s[n] >= 'a' && s[n] <= 'z' {
		n++
	}
	return s[:n], s[n:]
}

// scaled is a decimal number times a factor, which must come out whole.
func scaled(number string, factor int64) (int64, error) {
	whole, part, _ := strings.Cut(number, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is too large", number)
	}
	n *= factor
	part = strings.TrimRight(part, "0")
	for _, digit := range part {
		if factor%10 != 0 {
			return 0, fmt.Errorf("%q has too many decimals", number)
		}
		factor /= 10
		more := int64(digit-'0') * factor
		if n > math.MaxInt64-more {
			return 0, fmt.Errorf("%q is too large", number)
		}
		n += more
	}
	return n, nil
}

// ParseBudget reads "max 200k tokens, $1.50, 20 minutes wall clock": any subset
// in any order, each kind once.
func ParseBudget(s string) (Budget, error) {
	var b Budget
	parts := budgetParts(s)
	for _, part := range parts {
		if err := b.take(part); err != nil {
			return Budget{}, err
		}
	}
	if len(parts) == 0 {
		return b, errors.New("no limit")
	}
	return b, nil
}

// budgetParts splits at commas that are not inside of a number, semicolons, "and" and "+".
func budgetParts(s string) []string {
	s = strings.ToLower(s)
	for _, sep := range [...]string{";", " and ", " + "} {
		s = strings.ReplaceAll(s, sep, ", ")
	}
	var parts []string
	start := 0
	digit := func(i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for i := 0; i <= len(s); i++ {
		if i < len(s) && (s[i] != ',' || digit(i+1) && digit(i+2) && digit(i+3) && !digit(i+4) && i > 0 && digit(i-1)) {
			continue
		}
		if part := strings.Trim(s[start:i], white+"."); part != "" {
			parts = append(parts, part)
		}
		start = i + 1
	}
	return parts
}

func (b *Budget) take(part string) error {
	text := part
	for _, word := range [...]string{"maximum ", "max. ", "max ", "at most ", "up to ", "≤"} {
		text = strings.TrimPrefix(text, word)
	}
	text = trimmed(text)
	money := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, "$"), " usd"), "usd")
	switch words, isTokens := strings.CutSuffix(strings.TrimSuffix(text, "s"), "token"); {
	case isTokens:
		return setOnce(&b.Tokens, words, part)
	case money != text:
		n, err := amount(money, 1_000_000)
		if err != nil {
			return err
		}
		return put(&b.CostMicros, n, part)
	}
	for _, word := range [...]string{" wall clock", " wall-clock", " wall time", " wall"} {
		text = strings.TrimSuffix(text, word)
	}
	d, err := ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is neither tokens, dollars nor time", part)
	}
	return put(&b.Wall, d, part)
}

// setOnce reads a number of tokens such as "200k", "1.5 m" or "200,000".
func setOnce(to *int64, words, part string) error {
	words = trimmed(words)
	factor := int64(1)
	if n := len(words); n > 0 {
		switch words[n-1] {
		case 'k':
			factor, words = 1_000, words[:n-1]
		case 'm':
			factor, words = 1_000_000, words[:n-1]
		}
	}
	n, err := amount(words, factor)
	if err != nil {
		return err
	}
	return put(to, n, part)
}

func amount(s string, factor int64) (int64, error) {
	s = strings.ReplaceAll(trimmed(s), ",", "")
	number, rest := takeNumber(s)
	if number == "" || rest != "" {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return scaled(number, factor)
}

func put[N int64 | time.Duration](to *N, n N, part string) error {
	switch {
	case *to != 0:
		return fmt.Errorf("%q is a second limit of the same kind", part)
	case n <= 0:
		return fmt.Errorf("%q leaves nothing to use", part)
	}
	*to = n
	return nil
}

// String writes the budget as a plan does. No limit is "".
func (b Budget) String() string {
	var parts []string
	if b.Tokens > 0 {
		parts = append(parts, "max "+tokens(b.Tokens)+" tokens")
	}
	if b.CostMicros > 0 {
		parts = append(parts, dollars(b.CostMicros))
	}
	if b.Wall > 0 {
		parts = append(parts, FormatDuration(b.Wall))
	}
	return strings.Join(parts, ", ")
}

func tokens(n int64) string {
	switch {
	case n%1_000_000 == 0:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n%1_000 == 0:
		return strconv.FormatInt(n/1_000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

func dollars(micros int64) string {
	s := fmt.Sprintf("$%d.%06d", micros/1_000_000, micros%1_000_000)
	for range 4 {
		s = strings.TrimSuffix(s, "0")
	}
	return s
}

// ParseOnFail reads `retry(N)`, `escalate`, `abort`, `skip` or `replan`, or a
// retry followed by one of the others: "retry(2), then escalate". A retry alone
// escalates at its end.
func ParseOnFail(s string) (OnFail, error) {
	out := OnFail{Then: Escalate}
	rest := strings.Trim(strings.ToLower(s), white+".")
	if after, ok := strings.CutPrefix(rest, "retry"); ok {
		n, end, closed := strings.Cut(strings.TrimLeft(after, white), ")")
		number, opened := strings.CutPrefix(n, "(")
		if !opened || !closed {
			return out, errors.New("retry needs a number: retry(2)")
		}
		n = trimmed(number)
		var err error
		if out.Retries, err = strconv.Atoi(n); err != nil || out.Retries < 0 || out.Retries > maxRetries {
			return out, fmt.Errorf("retry(%s) is not a number of retries from 0 to %d", n, maxRetries)
		}
		if rest = strings.TrimLeft(end, white+",;"); rest == "" {
			return out, nil
		}
		if after, ok := strings.CutPrefix(rest, "then"); ok && strings.TrimLeft(after, white+",;") != after {
			rest = strings.TrimLeft(after, white+",;")
		}
	}
	switch rest {
	case Escalate, Abort, Skip, Replan:
		out.Then = rest
		return out, nil
	}
	return out, fmt.Errorf("%q is not `retry(N)`, an ending (escalate, abort, skip, replan), or `retry(N), then` and an ending", s)
}

// maxRetries is the largest N of retry(N).
const maxRetries = 999

// String writes the policy as a plan does.
func (f OnFail) String() string {
	if f.Retries == 0 {
		return f.Then
	}
	return fmt.Sprintf("retry(%d), then %s", f.Retries, f.Then)
}
