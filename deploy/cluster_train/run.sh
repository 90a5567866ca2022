#!/bin/sh
# The recommendation demo on the hosts of conf.py. Run preprocess.sh of the workspace first. Options that are not below may follow: sh run.sh --seed=7
# A workspace that is on the hosts already: JOB_WORKSPACE=/home/paddle/JOB20261115120000 sh run.sh
set -e
cd "$(dirname "$0")"
workspace="${WORKSPACE:-../../examples/recommendation}"
if [ -n "$JOB_WORKSPACE" ]; then
  files="--job_workspace=$JOB_WORKSPACE"
else
  files="--job_dispatch_package=$workspace"
fi
exec oarfish cluster \
  --conf "${CONF:-conf.py}" \
  "$files" \
  --dot_period=10 \
  --ports_num_for_sparse=2 \
  --log_period=50 \
  --num_passes="${NUM_PASSES:-10}" \
  --trainer_count="${TRAINER_COUNT:-4}" \
  --saving_period=1 \
  --local=0 \
  --config=./trainer_config.ts \
  --save_dir=./output \
  --use_gpu=0 \
  "$@"
