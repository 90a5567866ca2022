#!/bin/sh
# Trains on this machine; further options win: sh run.sh --num_passes=2. The lines are kept in log/paddle_trainer.INFO.
set -e
cd "$(dirname "$0")"
exec oarfish trainer \
  --config=./trainer_config.ts \
  --save_dir=./output \
  --use_gpu=0 \
  --trainer_count="${TRAINER_COUNT:-1}" \
  --num_passes="${NUM_PASSES:-10}" \
  --log_period=10 \
  --dot_period=10 \
  "$@"
