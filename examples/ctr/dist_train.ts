/** @file train_fleet.ts by its usual name: oarfish launch_ps --worker_num 2 --server_num 2 dist_train.ts */
import './train_fleet.ts'
