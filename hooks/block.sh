# >>> git incident >>>
# `git incident init` wrote this block and `git incident init --uninstall` removes it.
# state: @STATE@
if command -v @PROGRAM@ >/dev/null 2>&1; then
  @PROGRAM@ hook @EVENT@ "$@" || @FAIL@
else
  echo 'git incident is not installed: its @EVENT@ hook @MISSING@' >&2
  @ABSENT@
fi
# <<< git incident <<<
