# >>> git incident >>>
# `git incident init` wrote this block and `git incident init --uninstall` removes it.
# state: @STATE@
# What git says on standard input is read once, and given to both git incident and the rest.
git_incident_input=$(cat)
if command -v @PROGRAM@ >/dev/null 2>&1; then
  if [ -n "$git_incident_input" ]; then printf '%s\n' "$git_incident_input"; fi |
    @PROGRAM@ hook @EVENT@ "$@" || @FAIL@
else
  echo 'git incident is not installed: its @EVENT@ hook @MISSING@' >&2
  @ABSENT@
fi
if [ -n "$git_incident_input" ]; then
  exec <<git_incident_end
$git_incident_input
git_incident_end
else
  exec </dev/null
fi
unset git_incident_input
# <<< git incident <<<
