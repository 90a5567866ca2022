/** @file A program as text: what it is given, its weights, its ops, and what happens to the gradients. */
import { backward } from '../autodiff/index.ts'
import { printProgram } from '../program/index.ts'
import type { Program } from './program.ts'
import { scalar } from './traced.ts'
import { tensorOf } from './variable.ts'

/** `closing` takes the place of the optimizer's ops: what a transpiler puts there. */
export function programText(program: Program, closing?: readonly string[]): string {
  const { builder, minimized } = program
  const graph = minimized
    ? backward(builder.build({ loss: scalar(tensorOf(minimized.loss)) }), 'loss')
    : builder.build({})
  const { kind } = minimized?.optimizer ?? {}
  const updated = [...graph.parameters.filter(({ trainable = true }) => trainable), ...graph.tables]
  const updates = kind ? updated.map(({ name }) => `${kind}(${name}, ${name}@GRAD)`) : []
  return [printProgram(graph), ...(closing ?? updates)].join('\n')
}
