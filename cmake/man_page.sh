#!/bin/sh
# Writes the man page of a program from its --help and --version.
#
#   cmake/man_page.sh PROGRAM OUTPUT.1.gz
set -eu
program=$1
# The line of apropos is the first sentence of the help.
name=$("$program" --help | sed -e 's/^kq[a-z-]* //' -e 's/[.:] .*//' -e 's/[.:]$//' -e 1q)
help2man --no-info --section=1 --manual='kq' --name="$name" "$program" | gzip -9n >"$2"
