/** @file model.ts: what was followed, put together. */

import type { FunctionDef, PythonFile } from './ast.ts'
import { bodyOf, printClass, printFunction } from './classes.ts'
import { HELPERS } from './helpers.ts'
import { printHyper } from './hyper.ts'
import type { Followed, Quoted } from './model.ts'
import { keyText, literal, variableName } from './names.ts'
import { type Out, outOf, quotedLines } from './out.ts'
import type { FunctionRecord, Helper, Session } from './session.ts'

export interface DraftOptions {
  /** What it was drafted from, for its first line. */
  readonly from: string
}

export function printDraft(session: Session, followed: Followed, { from }: DraftOptions): string {
  const inputs = printInputs(session, followed)
  const net = printNet(session, followed)
  const optimizer = printOptimizer(session, followed)
  const classes = [...session.used]
    .sort((a, b) => a.node.line - b.node.line)
    .flatMap((own) => ['', ...printClass(session, own)])
  const methods = session.model ? [...session.methods].map((node) => session.records.get(node)!) : []
  const functions = [...session.records.values()].filter(({ node }) => session.functions.get(node.name)?.node === node)
  const free = [...functions, ...methods].flatMap((record) => [
    '',
    ...printFunction(session, record, methods.includes(record)),
  ])
  const hyper = printHyper(session.hyper, '    ')
  const apart = free.some((line) => line.includes('hyper: Hyper'))
  const helpers = (Object.keys(HELPERS) as Helper[])
    .filter((name) => session.helpers.has(name))
    .flatMap((name) => ['', HELPERS[name]])
  const body = [
    ...(apart
      ? ['const hyperParameters = z.strictObject({', ...hyper, '})', 'type Hyper = z.infer<typeof hyperParameters>', '']
      : []),
    'export default defineModel({',
    ...(apart ? ['  hyperParameters,'] : ['  hyperParameters: {', ...hyper, '  },']),
    '',
    ...inputs,
    '',
    ...net,
    '',
    ...optimizer,
    '})',
    ...classes,
    ...free,
    ...helpers,
  ].join('\n')
  return `${[`/** @file Drafted by \`oarfish port\` from ${from}. Numbers in comments are lines there. */`, ...imports(body)].join('\n')}\n\n${body}\n`
}

function imports(body: string): readonly string[] {
  const names = ['defineModel', 'metric', 'optimizer', 'optimizerKeys', 'z'].filter((name) =>
    new RegExp(`(?<![.\\w])${name}[(.]|typeof ${name}\\b`).test(body),
  )
  const types = /\bOptimizerSpec\b/.test(body) ? ['type OptimizerSpec'] : []
  return [`import { ${[...names, ...types].join(', ')} } from 'oarfish'`, "import * as nn from 'oarfish/nn'"]
}

function recordOf(session: Session, node: FunctionDef | undefined) {
  return node && session.records.get(node)
}

/** Lines that return are replaced by what a model here returns. */
const withoutReturns = (out: readonly Out[]): readonly Out[] =>
  out.flatMap((own): readonly Out[] => {
    if (own.kind === 'block') return [{ ...own, body: withoutReturns(own.body) }]
    return own.kind === 'line' && /^return\b/.test(own.written.text) && !own.written.gap ? [] : [own]
  })

function printInputs(session: Session, { inputs, owners, quoted }: Followed): readonly string[] {
  if (quoted)
    return [
      '  // In the order of the reader: feeds.label(name), feeds.sparse(name) of ids, feeds.dense(name, width).',
      ...quotedIn(quoted.file, quoted.inputs ? [quoted.inputs] : [], '  '),
      '  inputs(feeds, hyper, run) {',
      '    return {}',
      '  },',
    ]
  const record = recordOf(session, inputs)
  const out = record ? withoutReturns(outOf(session, record, record.node.body)) : []
  const result = `return { ${owners.map(variableName).join(', ')} }`
  const shown = record ? bodyOf(record, inOrder(session, out, owners), '    ', result) : []
  return ['  inputs(feeds, hyper, run) {', ...shown, `    ${result}`, '  },']
}

/** Inputs are declared in the order in which the data has them, which is that of the list that create_feeds returns. */
function inOrder(session: Session, out: readonly Out[], owners: readonly string[]): readonly Out[] {
  const lines = owners.map((name) =>
    out.find((own) => own.kind === 'line' && own.written.declares?.length === 1 && own.written.declares[0] === name),
  )
  const others = out.filter((own) => !lines.includes(own))
  const locals = others.flatMap((own) => (own.kind === 'line' ? (own.written.declares ?? []) : []))
  const isFree = (own: Out | undefined) =>
    own?.kind === 'line' && !locals.some((name) => new RegExp(`\\b${name}\\b`).test(own.written.text))
  if (lines.every(isFree) && !others.some(({ kind }) => kind === 'block'))
    return [...lines.map((own) => own!), ...others]
  session.notes.add(
    'inputs are declared in the order of create_feeds: where MultiSlot text has another, change it to that of the list it returns',
  )
  return out
}

const quotedIn = (file: PythonFile, methods: readonly FunctionDef[], indent: string): readonly string[] =>
  methods
    .flatMap((method) => quotedLines(file, method.body))
    .map((own) => `${indent}// ${own.kind === 'comment' ? own.text : ''}`)

/** The net as create_model makes it; what is done with it stands as Python. */
function printQuoted(session: Session, record: FunctionRecord, quoted: Quoted): readonly string[] {
  const out = outOf(session, record, record.node.body)
  const made = out.findLast((own) => own.kind === 'line' && /^return\b/.test(own.written.text))
  const net = made?.kind === 'line' ? [`const ${variableName(quoted.name)} = ${made.written.text.slice(7)}`] : []
  const [first] = quoted.net
  session.help('unported')
  const loss = literal(`${quoted.file.name}:${first?.line ?? record.node.line}: the loss is yours to write`)
  return [
    `  /** ${record.file.name}:${record.node.line} */`,
    '  net(inputs, hyper, run) {',
    ...bodyOf(record, withoutReturns(out), '    ', net.join()),
    ...net.map((line) => `    ${line}`),
    ...quotedIn(quoted.file, quoted.net, '    '),
    `    return { loss: unported<nn.Tensor>(${loss}) }`,
    '  },',
  ]
}

function printNet(session: Session, followed: Followed): readonly string[] {
  const record = recordOf(session, followed.net)
  if (record && followed.quoted) return printQuoted(session, record, followed.quoted)
  if (!record) return ['  net() {', `    return { loss: ${missingLoss(session)} }`, '  },']
  const out = withoutReturns(outOf(session, record, record.node.body))
  const measured = metricsOf(session, followed)
  const names = new Set<string>()
  const outputs = session.predictions.map(({ text }, i) => {
    const own = /^\w+$/.test(text) && !names.has(text) ? text : i === 0 ? 'predict' : `predict_${i}`
    names.add(own)
    return own === text ? own : `${own}: ${text}`
  })
  const parts = [
    `loss: ${session.loss?.text ?? missingLoss(session)}`,
    ...(outputs.length > 0 ? [`outputs: { ${outputs.join(', ')} }`] : []),
    ...measured.map(({ name, text }) => `${keyText(`measured_${name}`)}: ${text}`),
  ]
  const result = `return { ${parts.join(', ')} }`
  return [
    `  /** ${record.file.name}:${record.node.line} */`,
    '  net(inputs, hyper, run) {',
    ...bodyOf(record, out, '    ', result),
    `    ${result}`,
    '  },',
    ...printMetrics(measured.map(({ name }) => name)),
  ]
}

function printMetrics(names: readonly string[]): readonly string[] {
  if (names.length === 0) return []
  const entries = names.map((name) => `${keyText(name)}: result.${`measured_${name}`}`)
  return ['', `  metrics: (result) => ({ ${entries.join(', ')} }),`]
}

function missingLoss(session: Session): string {
  session.help('unported')
  return `unported<nn.Tensor>(${literal('the loss: no self._cost was found')})`
}

/** What fetch_dict holds: metrics, and tensors that are not the loss. */
function metricsOf(
  session: Session,
  { fetched }: Followed,
): readonly { readonly name: string; readonly text: string }[] {
  return [...fetched].flatMap(([name, value]) => {
    const text = session.named.get(value)
    if (text === undefined || (value.kind !== 'metric' && value.kind !== 'tensor')) return []
    const isLoss =
      value.kind === 'tensor' &&
      value.tensor !== undefined &&
      session.loss?.value.kind === 'tensor' &&
      session.loss.value.tensor === value.tensor
    if (isLoss || text === session.loss?.text) return []
    if (value.kind === 'tensor' && value.tensor?.shape.length !== 0) return []
    return [{ name: name.replaceAll(/\W/g, '_'), text: value.kind === 'metric' ? text : `metric.mean(${text})` }]
  })
}

function printOptimizer(session: Session, { optimizer }: Followed): readonly string[] {
  const record = recordOf(session, optimizer)
  const found = record && [...record.locals].find(([, values]) => values.some(({ kind }) => kind === 'optimizer'))
  if (!record || !found) {
    session.help('unported')
    return [
      '  optimizer() {',
      ...(record ? quotedIn(record.file, [record.node], '    ') : []),
      `    return unported<OptimizerSpec>(${literal('the optimizer: create_optimizer was not translated')})`,
      '  },',
    ]
  }
  // Among the lines, so that one which a branch makes is declared before it.
  const result: Out = { kind: 'line', written: { text: `return ${variableName(found[0])}` } }
  const out = [...withoutReturns(outOf(session, record, record.node.body)), result]
  return ['  optimizer(hyper, run) {', ...bodyOf(record, out, '    '), '  },']
}
