#!/usr/bin/env bash
# seeds.sh KQ-SIM fixed|commit: runs the same worlds everywhere and always, or as many that are this commit's own, so
# that every commit looks where none has looked. After a failure the last line says how to see it. KQ_SIM_WORLDS says
# how many; CI runs 2,000 of each.
set -euo pipefail
worlds=${KQ_SIM_WORLDS:-100}
if [[ $2 == fixed ]]; then exec "$1" --seeds "1..$worlds" --jobs 2; fi
commit=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse HEAD 2>/dev/null || echo 0)  # 0: not a checkout
exec "$1" --seeds-from "$commit" "$worlds" --jobs 2
