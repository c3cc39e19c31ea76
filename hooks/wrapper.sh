# The hook that was here before is no shell script that runs, so it stands beside this file.
git_incident_before=$(dirname -- "$0")/@EVENT@.before-git-incident
if [ -x "$git_incident_before" ]; then
  exec "$git_incident_before" "$@"
fi
