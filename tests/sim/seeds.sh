#!/usr/bin/env bash
# seeds.sh KQ-SIM fixed|commit: runs simulated worlds. fixed takes the same seeds on every machine; commit derives the
# seeds from the hash of the commit, so that every commit tries new ones. After a failure the last line says how to
# repeat the world. KQ_SIM_WORLDS is the number of worlds; CI runs 2,000 of each kind.
set -euo pipefail
worlds=${KQ_SIM_WORLDS:-100}
if [[ $2 == fixed ]]; then exec "$1" --seeds "1..$worlds" --jobs 2; fi
commit=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse HEAD 2>/dev/null || echo 0)  # 0: not a checkout
exec "$1" --seeds-from "$commit" "$worlds" --jobs 2
