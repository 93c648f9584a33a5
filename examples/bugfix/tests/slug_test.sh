# Tests of src/slug.sh: each line below is a text, a bar and its slug.
cd "$(dirname "$0")/.." || exit 2
. src/slug.sh || exit 2

failed=0
while IFS='|' read -r text want; do
  got=$(slug "$text")
  if [ "$got" != "$want" ]; then
    echo "slug '$text': got '$got', want '$want'"
    failed=$((failed + 1))
  fi
done <<'END'
release notes|release-notes
Release Notes|release-notes
version 2 of 3|version-2-of-3
Hello,  World!|hello-world
  spaces around  |spaces-around
--already-a-slug--|already-a-slug
END
echo "$failed failed"
[ "$failed" -eq 0 ]
