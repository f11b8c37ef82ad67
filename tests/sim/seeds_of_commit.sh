#!/usr/bin/env bash
# seeds_of_commit.sh KQ-SIM N: runs N worlds that are this commit's own, so that every commit looks where none has looked.
set -euo pipefail
commit=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse HEAD 2>/dev/null || echo 0)  # 0: not a checkout
exec "$1" --seeds-from "$commit" "$2" --jobs 2
