#!/usr/bin/env bash
# An agent that does what a file outside of the workspace says: agents/STEP.ATTEMPT,
# else agents/STEP, else, for an instance, that of the step that it is of: a script for
# bash. It keeps its prompt as prompts/STEP.ATTEMPT.
set -e
WORK=${PITON_WORKSPACE%/*}
[ -e "$WORK/agents" ] || WORK=${HOME%/*} # in a worktree
export WORK
mkdir -p "$WORK/prompts"
cat >"$WORK/prompts/$PITON_STEP.$PITON_ATTEMPT"
for does in "$PITON_STEP.$PITON_ATTEMPT" "$PITON_STEP" "${PITON_STEP%%.*}"; do
  [ ! -e "$WORK/agents/$does" ] || break
done
exec bash "$WORK/agents/$does"
