# slug TEXT prints TEXT as a part of a URL: words in lower case, one dash
# between two of them, and nothing else.
slug() {
  printf '%s' "$1" | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9' '-'
  echo
}
