/** @file The public face of agent/: one node of a submitted job. */
export { type NodeOptions, runNode } from './node.ts'
