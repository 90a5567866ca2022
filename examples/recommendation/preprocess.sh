#!/bin/sh
# A MovieLens folder (1M: *.dat, or 100k: u.data, u.item, u.user) as data/{meta.json,ratings.dat.*,train.list,test.list}.
set -e
cd "$(dirname "$0")"
exec node data/preprocess.mjs "$@"
