// Rows that several workers train apart, put together. Of a weight the changes add up. Of an optimizer's state, which an update makes
// `decay * state + what the gradient adds`, a worker that made n updates brings in what its gradients added, and the row keeps decay^n of
// what it had: as if these updates came after all that the row has seen. So Adam's and Adagrad's steps are as large as the gradients of
// all workers make them; by those of a worker alone, which sees one in `workers`, they are up to its root too large.
// A worker's row holds behind its state what the servers hold of it, and how often it was updated since it was sent: below 0 where it
// is picked to be sent. A server's row has neither. Weights are float32.
import { markRows } from "./segment-marks";
import { catchUp, clocked, copyAt, countAt, dim, runs, touchRows } from "./segment-rows";

let decay0: f64 = 1;
let decay1: f64 = 1;
let decay2: f64 = 1;

/** What an update leaves of each run of state that is exchanged. */
export function setDecays(a: f64, b: f64, c: f64): void { decay0 = a; decay1 = b; decay2 = c; }

// What `count` updates leave. On worker and server alike, to the last bit: what a worker takes to be on the server is there.
@inline function left(run: usize, count: f32): f32 {
  let base = run == 0 ? decay0 : run == 1 ? decay1 : decay2;
  let power: f64 = 1;
  for (let n = <u32>count; n; n >>= 1, base *= base) if (n & 1) power *= base;
  return <f32>power;
}

@inline function rowAt(addresses: usize, i: usize): usize { return <usize>load<u32>(addresses + (i << 2)); }

/** Picks those of `n` rows that were updated `least` times or more since they were sent: flags[i] = 1. */
export function pick(addresses: usize, n: u32, least: f32, flags: usize): void {
  touchRows(addresses, n, countAt);
  for (let i: usize = 0; i < n; i++) {
    let row = rowAt(addresses, i);
    let count = row ? load<f32>(row + countAt) : 0;
    let isPicked = count > 0 && count >= least;
    if (isPicked) store<f32>(row + countAt, -count);
    store<u8>(flags + i, isPicked ? 1 : 0);
  }
}

/** What a worker brings in of `n` rows: 1 / share of the change of weights, what its gradients added to state, and its updates. */
export function bring(addresses: usize, n: u32, share: f32, weights: usize, states: usize, counts: usize): void {
  touchRows(addresses, n, 0);
  let bytes = dim << 2;
  for (let i: usize = 0; i < n; i++, counts += 4) {
    let row = rowAt(addresses, i);
    if (clocked) catchUp(row, 0);
    let copy = row + copyAt;
    let count = abs(load<f32>(row + countAt));
    for (let end = row + bytes; row < end; row += 4, copy += 4, weights += 4) store<f32>(weights, (load<f32>(row) - load<f32>(copy)) / share);
    for (let run: usize = 0; run < runs; run++) {
      let rest = left(run, count);
      for (let end = row + bytes; row < end; row += 4, copy += 4, states += 4) {
        let kept = rest * load<f32>(copy);
        let added = load<f32>(row) - kept;
        store<f32>(states, added);
        store<f32>(copy, kept + added);
      }
    }
    store<f32>(copy, 0); // how often: behind the copy
    store<f32>(counts, count);
  }
}

/** The servers have got these changes of weights, as they arrive there, of the rows just brought in. */
export function sent(addresses: usize, n: u32, weights: usize): void {
  for (let i: usize = 0; i < n; i++) {
    let copy = rowAt(addresses, i) + copyAt;
    for (let end = copy + (dim << 2); copy < end; copy += 4, weights += 4) store<f32>(copy, load<f32>(copy) + load<f32>(weights));
  }
}

/** What the servers hold of `n` rows goes beneath what this worker has not yet brought in; `stride`s are bytes from row to row. */
export function take(addresses: usize, n: u32, weights: usize, weightStride: usize, states: usize, stateStride: usize): void {
  touchRows(addresses, n, 0);
  let bytes = dim << 2;
  for (let i: usize = 0; i < n; i++, weights += weightStride, states += stateStride) {
    let row = rowAt(addresses, i);
    if (clocked) catchUp(row, 0);
    let copy = row + copyAt;
    let count = abs(load<f32>(row + countAt));
    for (let end = row + bytes, w = weights; row < end; row += 4, copy += 4, w += 4) {
      let served = load<f32>(w);
      store<f32>(row, load<f32>(row) + (served - load<f32>(copy)));
      store<f32>(copy, served);
    }
    let s = states;
    for (let run: usize = 0; run < runs; run++) {
      let rest = left(run, count);
      for (let end = row + bytes; row < end; row += 4, copy += 4, s += 4) {
        let served = load<f32>(s);
        // Nothing of its own: to the last bit what the servers have. A difference could leave a sum of squares below 0.
        store<f32>(row, count == 0 ? served : load<f32>(row) + rest * (served - load<f32>(copy)));
        store<f32>(copy, served);
      }
    }
  }
}

/** On a server: what a worker brings in comes to `n` rows. */
export function add(addresses: usize, n: u32, weights: usize, states: usize, counts: usize): void {
  touchRows(addresses, n, 0);
  let bytes = dim << 2;
  for (let i: usize = 0; i < n; i++, counts += 4) {
    let row = rowAt(addresses, i);
    for (let end = row + bytes; row < end; row += 4, weights += 4) store<f32>(row, load<f32>(row) + load<f32>(weights));
    for (let run: usize = 0; run < runs; run++) {
      let rest = left(run, load<f32>(counts));
      for (let end = row + bytes; row < end; row += 4, states += 4) store<f32>(row, rest * load<f32>(row) + load<f32>(states));
    }
  }
  markRows(addresses, n);
}

/** On a server: weights and exchanged state of `n` rows. */
export function give(addresses: usize, n: u32, weights: usize, states: usize): void {
  touchRows(addresses, n, 0);
  let bytes = dim << 2;
  for (let i: usize = 0; i < n; i++, weights += bytes) {
    let row = rowAt(addresses, i);
    memory.copy(weights, row, bytes);
    memory.copy(states, row + bytes, bytes * runs);
    states += bytes * runs;
  }
}
