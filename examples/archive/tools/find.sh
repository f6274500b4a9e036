#!/bin/sh
# Says which files hold a word, and how often.
# usage: find.sh INDEX WORD
set -eu
word=$(printf '%s' "$2" | tr '[:upper:]' '[:lower:]')
awk -F '\t' -v word="$word" '$1 == word { printf "%s: %s\n", $3, $2 }' "$1"
