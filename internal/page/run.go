package page

import "net/url"

// stepPath is the page of a step.
func stepPath(run, step string) string { return "/runs/" + run + "/steps/" + url.PathEscape(step) }
