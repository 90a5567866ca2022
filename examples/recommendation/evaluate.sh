#!/bin/sh
# The pass with the lowest test cost, by the log of a run: sh evaluate.sh [LOG]
set -e
cd "$(dirname "$0")"
awk '
  / Test samples=/ { cost = $0; sub(/.* cost=/, "", cost); sub(/ .*/, "", cost) }
  /Saving parameters to .*pass-/ { pass = $0; sub(/.*pass-/, "", pass); if (best == "" || cost + 0 < best + 0) { best = cost; at = pass } }
  END {
    if (best == "") { print "no saved and tested pass in the log" > "/dev/stderr"; exit 1 }
    printf "Best pass is %s, error is %s, which means a root mean square error of %.4f stars\n", at, best, sqrt(best) / 2
  }' "${1:-log/paddle_trainer.INFO}"
