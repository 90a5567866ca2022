// The dense block: all dense weights and their optimizer state in one shared memory, seen by every trainer thread.
export { configure, setStep, apply } from "./rules";
