/**
 * @file The short form of zoo.test.ts: a software adapter takes ten seconds a model, so only enough models run that every
 * kind of node of the zoo is among their programs.
 */
import { lacking } from './adapter.testing.ts'
import { CONFIGS, trainingProgram, zooTests } from './zoo.testing.ts'

const kinds: { readonly path: string; readonly own: ReadonlySet<string> }[] = []
for (const path of lacking ? [] : CONFIGS)
  kinds.push({ path, own: new Set((await trainingProgram(path)).nodes.map(({ op }) => op.kind)) })

const covered = new Set<string>()
const chosen: string[] = []
for (const { path, own } of kinds.sort((one, other) => other.own.size - one.own.size)) {
  if ([...own].every((kind) => covered.has(kind))) continue
  chosen.push(path)
  for (const kind of own) covered.add(kind)
}

zooTests('models with every kind of node of the zoo', chosen)
