/** @file The user's classes and functions in TypeScript. */
import type { FunctionDef } from './ast.ts'
import { memberName, variableName } from './names.ts'
import { type Out, outOf, withoutUnused } from './out.ts'
import { changedParams, givenName, printBody, printParams, typeIn } from './print.ts'
import type { FunctionRecord, Session } from './session.ts'
import { type PythonClass, typeOf } from './value.ts'

export function printClass(session: Session, own: PythonClass): readonly string[] {
  const { node, file, parent, isLayer } = own
  const base = parent ? parent.node.name : isLayer ? 'nn.Layer' : undefined
  const fields = [...(session.fields.get(own) ?? [])].map(
    ([name, values]) => `  ${memberName(name)}!: ${typeOf(values)}`,
  )
  const methods = node.body.flatMap((part) => (part._ === 'FunctionDef' ? [part] : []))
  const printed = methods.flatMap((method) => ['', ...printMethod(session, own, method, base !== undefined)])
  return [
    `/** ${file.name}:${node.line} */`,
    `class ${node.name}${base ? ` extends ${base}` : ''} {`,
    ...fields,
    ...(fields.length === 0 ? printed.slice(1) : printed),
    '}',
  ]
}

function printMethod(session: Session, own: PythonClass, node: FunctionDef, derived: boolean): readonly string[] {
  const record = session.records.get(node)
  if (!record?.entered.has(node.body)) return notFollowed(session, own, node)
  const out = outOf(session, record, node.body)
  if (node.name !== '__init__')
    return [
      `  ${memberName(node.name === '__call__' ? 'forward' : node.name)}(${printParams(record, 1)}) {`,
      ...bodyOf(record, out, '    '),
      '  }',
    ]
  const isSuper = (line: Out) => line.kind === 'line' && line.written.text.startsWith('super(')
  const first = out.find(isSuper)
  const head = derived ? [`    ${first?.kind === 'line' ? first.written.text : 'super()'}`] : []
  return [
    `  constructor(${printParams(record, 1)}) {`,
    ...head,
    ...bodyOf(
      record,
      out.filter((line) => !isSuper(line)),
      '    ',
    ),
    '  }',
  ]
}

/** A method that nothing calls: its lines, to be translated by hand. */
function notFollowed(session: Session, { file }: PythonClass, node: FunctionDef): readonly string[] {
  const record = session.record(node, file)
  const lines = outOf(session, record, node.body)
  const empty: Out = {
    kind: 'line',
    written: { text: `throw new Error('${file.name}:${node.line}: ${node.name} does nothing')` },
  }
  const out = lines.length > 0 ? lines : [empty]
  return [`  ${memberName(node.name)}(..._: readonly unknown[]): nn.Tensor {`, ...printBody(record, out, '    '), '  }']
}

/** The body, behind where the builder comes from if weights are used in it. `end` is what will follow it. */
export function bodyOf(record: FunctionRecord, out: readonly Out[], indent: string, end = ''): readonly string[] {
  const kept = withoutUnused(out, end)
  const builder = record.builder ? [`${indent}const builder = ${record.builder}`] : []
  // A parameter that becomes something else begins as what was given.
  const changed = changedParams(record).map(
    (name) => `${indent}let ${variableName(name)}: ${typeIn(record, name)} = ${givenName(name)}`,
  )
  const head = [...changed, ...builder]
  return [...head, ...printBody(record, kept, indent)]
}

export function printFunction(session: Session, record: FunctionRecord, ofModel: boolean): readonly string[] {
  const out = outOf(session, record, record.node.body)
  const params = printParams(record, ofModel ? 1 : 0)
  return [
    `/** ${record.file.name}:${record.node.line} */`,
    `function ${variableName(record.node.name)}(${[...(ofModel ? ['hyper: Hyper'] : []), params].filter(Boolean).join(', ')}) {`,
    ...bodyOf(record, out, '  '),
    '}',
  ]
}
