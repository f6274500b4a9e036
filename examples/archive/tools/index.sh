#!/bin/sh
# Builds the index of a revision: one line per word and file, "word<TAB>count<TAB>file", sorted.
# usage: index.sh FOLDER-OF-TEXTS INDEX
set -eu
texts=$1
index=$2
mkdir -p "$(dirname "$index")"
find "$texts" -type f -name '*.txt' | LC_ALL=C sort | while IFS= read -r file; do
    tr -cs '[:alnum:]' '\n' <"$file" | tr '[:upper:]' '[:lower:]' | sed '/^$/d' | LC_ALL=C sort | uniq -c |
        awk -v file="$file" '{ printf "%s\t%s\t%s\n", $2, $1, file }'
done | LC_ALL=C sort >"$index.$$"
# Whole, or not at all.
mv "$index.$$" "$index"
