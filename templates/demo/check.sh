#!/bin/sh
# Runs softmax on every input and holds it against the reference.
dir=$(mktemp -d) || exit 125
trap 'rm -rf "$dir"' EXIT
awk -f softmax.awk inputs.txt >"$dir/candidate" 2>"$dir/messages" || exit 125
awk -f reference.awk inputs.txt >"$dir/reference" || exit 125
awk -f compare.awk "$dir/candidate" "$dir/reference"
