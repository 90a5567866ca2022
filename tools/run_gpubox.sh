#!/bin/sh
# Trains as a GPU parameter server on this host, from any folder: one process holds the job's port, one trains on all devices listed below.
# Logs go to ./log of the folder in which it is started. Edit a value below, or give it in the environment.

# The array form PADDLE_PSERVER_PORT_ARRAY=(29011) is bash's: this runs under bash where there is one.
if [ -z "$BASH_VERSION" ]; then
  if command -v bash >/dev/null 2>&1; then exec bash "$0" "$@"; fi
  if grep -q '^[^#]*PORT_ARRAY=(' "$0"; then
    echo "run_gpubox.sh: PADDLE_PSERVER_PORT_ARRAY=(...) is an array, which needs bash, and there is none here. Write PADDLE_PSERVER_PORT_ARRAY=29011 instead." >&2
    exit 2
  fi
fi

export PADDLE_TRAINER_ID=0
export PADDLE_PSERVER_NUMS=1
export PADDLE_TRAINERS=1
export PADDLE_TRAINERS_NUM=${PADDLE_TRAINERS}
export POD_IP=127.0.0.1

# set free port if 29011 is occupied
export PADDLE_PSERVERS_IP_PORT_LIST="${PADDLE_PSERVERS_IP_PORT_LIST:-127.0.0.1:29011}"
export PADDLE_PSERVER_PORT_ARRAY="${PADDLE_PSERVER_PORT_ARRAY:-29011}"

# set gpu numbers according to your device
export FLAGS_selected_gpus="${FLAGS_selected_gpus:-0,1,2,3,4,5,6,7}"

# set your model yaml
SC="${SC:-tools/static_gpubox_trainer.py -m models/rank/dnn/config_gpubox.yaml}"

if [ ! -d ./log ]; then
  mkdir ./log || exit 2
  echo "Create log floder for store running log"
fi

# Oarfish: the package that this file belongs to, else the one of this folder, else the one of the PATH.
home=$(cd "$(dirname "$0")/.." && pwd)
# It takes the place of the background shell, whose number is then its own: ending that ends it.
become_oarfish() {
  if [ -f "$home/bin/oarfish.js" ]; then exec "${OARFISH_NODE:-node}" "$home/bin/oarfish.js" "$@"; fi
  if [ -x ./node_modules/.bin/oarfish ]; then exec ./node_modules/.bin/oarfish "$@"; fi
  exec oarfish "$@"
}

# SC is a tool and its arguments; a yaml that is not in this folder may be one that ships with the package.
run() {
  # shellcheck disable=SC2086
  set -- $SC
  tool=$(basename "$1" .py)
  shift
  count=$#
  while [ "$count" -gt 0 ]; do
    word=$1
    shift
    if [ "${word%.yaml}" != "$word" ] && [ ! -e "$word" ] && [ -e "$home/$word" ]; then word=$home/$word; fi
    set -- "$@" "$word"
    count=$((count - 1))
  done
  become_oarfish tool "$tool" "$@"
}

server=
trainer=
ended() {
  trap - EXIT INT TERM
  for pid in $trainer $server; do
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
  done
  exit "$1"
}
trap 'ended $?' EXIT
trap 'ended 130' INT
trap 'ended 143' TERM

# run pserver
export TRAINING_ROLE=PSERVER
# One port, whichever way it was written: 29011, "(29011)" or bash's array, of which this is the first.
port=$(echo "${PADDLE_PSERVER_PORT_ARRAY}" | tr -d '() ')
echo "PADDLE WILL START PSERVER $port"
export PADDLE_PORT="$port"
: >./log/pserver.0.log # there before it is looked at: what runs beside may take its time
run >>./log/pserver.0.log 2>&1 &
server=$!
tries=0
until grep -q 'Run Server Begin' ./log/pserver.0.log; do
  if ! kill -0 "$server" 2>/dev/null; then
    wait "$server"
    code=$?
    server=
    cat ./log/pserver.0.log >&2
    echo "run_gpubox.sh: the server did not start; the port is set by PADDLE_PSERVERS_IP_PORT_LIST and PADDLE_PSERVER_PORT_ARRAY." >&2
    [ "$code" -eq 0 ] && code=1
    exit "$code"
  fi
  tries=$((tries + 1))
  if [ "$tries" -gt 600 ]; then
    echo "run_gpubox.sh: the server did not start within a minute; see ./log/pserver.0.log." >&2
    exit 1
  fi
  sleep 0.1
done

# run trainer
export TRAINING_ROLE=TRAINER
echo "PADDLE WILL START Trainer 0"
run >./log/worker.0.log 2>&1 &
trainer=$!
wait "$trainer"
code=$?
trainer=
if [ "$code" -ne 0 ]; then tail -n 5 ./log/worker.0.log >&2; fi
echo "Training log stored in ./log/"
exit "$code"
