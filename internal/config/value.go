package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// USD is an amount of money in millionths of a dollar.
type USD int64

// String writes the amount in dollars with as many digits as it needs.
func (u USD) String() string {
	whole, part := u/1e6, u%1e6
	if part == 0 {
		return strconv.FormatInt(int64(whole), 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%06d", whole, part), "0")
}

const maxDollars = 1_000_000_000

func parseUSD(text string) (USD, error) {
	refuse := fmt.Errorf("is an amount in dollars such as 2 or 0.50, not %q", text)
	whole, part, _ := strings.Cut(strings.TrimPrefix(text, "$"), ".")
	if whole == "" || len(part) > 6 || !digits(whole) || !digits(part) {
		return 0, refuse
	}
	w, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || w > maxDollars {
		return 0, refuse
	}
	p, _ := strconv.ParseInt((part + "000000")[:6], 10, 64) // six digits always fit
	return USD(w*1e6 + p), nil
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

const day = 24 * time.Hour

// parseDuration reads Go's durations and whole days, as in 90d.
func parseDuration(text string) (time.Duration, error) {
	refuse := fmt.Errorf("is a duration such as 30s, 10m, 2h or 90d, not %q", text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(day) {
			return 0, refuse
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, refuse
	}
	if d < 0 {
		return 0, errors.New("cannot be negative")
	}
	return d, nil
}

func formatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
