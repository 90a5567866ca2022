/**
 * @file Writes docs/reference/api/ from the declarations in dist/: every exported name with its sentence, its declaration and its examples.
 * `--check` only compares, and fails when a page is stale or a name has no sentence.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { relative } from 'node:path'
import ts from 'typescript-5'
import { put } from './generated.mjs'
import { at } from './setup.mjs'

/** What each import is for, in the order of the index. */
const ENTRIES = {
  oarfish:
    'Calls that train, evaluate, export, score, serve and launch; what models, readers and optimizers are written in.',
  nn: 'Tensors, operations on them, layers and losses: what a net computes with.',
  fleet: 'Paddle’s Fleet API: roles, strategies, servers and workers of a program, saving together.',
  fluid: 'Paddle Fluid: layers, programs, Executor, datasets, DistributeTranspiler.',
  trainer: 'PaddlePaddle’s first trainer: what a trainer_config.ts and data providers are written in.',
}

/** Sections of a page, by where a name is declared; the first that fits. */
const SECTIONS = [
  ['Calls', /^library\//],
  ['Configuration', /^base\/config\//],
  ['Events and errors', /^base\/(event|util\/errors)/],
  ['Models', /^model\//],
  ['Optimizers and tables', /^weights\//],
  ['Readers', /^data\//],
  ['Exports', /^inference\//],
  ['Layers and losses', /^graph\/nn\//],
  ['Tensors and operations', /^graph\/program\//],
]
const OTHER = 'More'

/** Names that other packages declare. */
const FOREIGN = {
  z: 'Zod, the package in which hyper-parameters are declared: `z.object({ dim: z.int().default(8) })`.',
}

const check = process.argv.includes('--check')
const FOLDER = at('docs', 'reference', 'api')
const fileOf = (entry) => at('dist', `${entry === 'oarfish' ? 'index' : entry}.d.ts`)
const program = ts.createProgram(Object.keys(ENTRIES).map(fileOf), {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  types: ['node'],
  skipLibCheck: true,
})
const checker = program.getTypeChecker()
const silent = []

const pages = Object.fromEntries([
  ['README.md', indexPage()],
  ...(await Promise.all(Object.keys(ENTRIES).map(async (entry) => [`${entry}.md`, await page(entry)]))),
])
if (silent.length > 0) {
  console.error(`without a sentence: ${silent.join(', ')}; write a comment above each declaration`)
  process.exit(1)
}
mkdirSync(FOLDER, { recursive: true })
const stale = [
  ...Object.entries(pages)
    .filter(([name, text]) => !put(`${FOLDER}/${name}`, text, check))
    .map(([name]) => name),
  ...readdirSync(FOLDER).filter((name) => !(name in pages)),
]
if (!check) for (const name of readdirSync(FOLDER).filter((name) => !(name in pages))) rmSync(`${FOLDER}/${name}`)
if (check && stale.length > 0) {
  console.error(`stale: ${stale.join(', ')} in docs/reference/api/; run node scripts/api.mjs`)
  process.exit(1)
}

function indexPage() {
  const rows = Object.entries(ENTRIES).map(
    ([entry, what]) => `| [\`${specifier(entry)}\`](${entry}.md) | ${exportsOf(entry).length} | ${what} |`,
  )
  return `<!-- Written by scripts/api.mjs from the declarations; change the comments in src/. -->
# API reference

[guide/library.md](../../guide/library.md) shows how the calls are used.

| import | names | what it has |
| --- | --- | --- |
${rows.join('\n')}
`
}

async function page(entry) {
  const names = exportsOf(entry).map((symbol) => describeName(entry, symbol))
  const titles = [...SECTIONS.map(([title]) => title), OTHER]
  const sections = titles
    .map((title) => [title, names.filter((name) => name.section === title)])
    .filter(([, own]) => own.length > 0)
  const parts = sections.map(([title, own]) => {
    return `## ${title}\n\n${own.map(({ text }) => text).join('\n\n')}`
  })
  const defaults = entry === 'oarfish' ? `\n\n## Defaults of optimizers\n\n${await optimizerDefaults()}` : ''
  return `<!-- Written by scripts/api.mjs from the declarations; change the comments in src/. -->
# \`${specifier(entry)}\`

${ENTRIES[entry]}

${parts.join('\n\n')}${defaults}
`
}

function specifier(entry) {
  return entry === 'oarfish' ? entry : `oarfish/${entry}`
}

/** What can be called or held first, then types. */
function exportsOf(entry) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(fileOf(entry)))
  const isValue = (symbol) => (resolved(symbol).flags & ts.SymbolFlags.Value) !== 0
  const order = (symbol) => `${isValue(symbol) ? 0 : 1}${symbol.name.toLowerCase()}`
  return checker.getExportsOfModule(module).sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0))
}

function describeName(entry, exported) {
  const symbol = resolved(exported)
  const { name } = exported
  const path = sourceOf(symbol)
  const section = SECTIONS.find(([, where]) => where.test(path))?.[0] ?? OTHER
  if (name in FOREIGN) return { name, section: OTHER, text: `### \`${name}\`\n\n${FOREIGN[name]}` }
  if (symbol.flags & ts.SymbolFlags.ValueModule) return { name, section, text: namespaceText(entry, name, symbol) }
  const sentence = sentenceOf(symbol)
  if (sentence === '') silent.push(`${specifier(entry)}: ${name}`)
  const code = symbol.declarations.map(declarationText).join('\n')
  return {
    name,
    section,
    text: [`### \`${name}\``, sentence, fenced(code), ...examplesOf(symbol)].filter(Boolean).join('\n\n'),
  }
}

function resolved(symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

function sourceOf({ declarations }) {
  return relative(at('dist'), declarations[0].getSourceFile().fileName).replaceAll('\\', '/')
}

function sentenceOf(symbol) {
  return ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim()
}

function examplesOf(symbol) {
  return symbol
    .getJsDocTags(checker)
    .filter(({ name }) => name === 'example')
    .map(({ text }) => `Example:\n${fenced(ts.displayPartsToString(text).trim())}`)
}

function fenced(code) {
  return `\`\`\`ts\n${code}\n\`\`\``
}

/** As it is declared, without what is not for callers; comments of members stay. */
function declarationText(declaration) {
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  return node
    .getText()
    .replace(/^export /, '')
    .replace(/^declare /, '')
    .replaceAll(/^ *(private [^\n]*|#private;)\n/gm, '')
    .replaceAll(', ...rest }', ' }') // what is refused
    .replaceAll('    ', '  ')
}

/** Members of a namespace in a table; functions and classes by how they are called. */
function namespaceText(entry, name, symbol) {
  const header = readFileSync(at('src', sourceOf(symbol).replace(/\.d\.ts$/, '.ts')), 'utf8') // declarations lose some
  const sentence = (/@file (.*?)\*\//s.exec(header)?.[1] ?? '').replaceAll(/\s*\n \*\s*/g, ' ').trim()
  if (sentence === '') silent.push(`${specifier(entry)}: ${name}`)
  if (sourceOf(symbol) === 'nn.d.ts') return `### \`${name}\`\n\nAll of [\`oarfish/nn\`](nn.md).`
  const members = checker.getExportsOfModule(symbol).map((member) => {
    const own = resolved(member)
    return `| \`${name}.${member.name}\` | ${(sentenceOf(own) || kindOf(own)).replaceAll('\n', ' ').replaceAll('|', '\\|')} |`
  })
  return `### \`${name}\`\n\n${sentence}\n\n| name | what it is |\n| --- | --- |\n${members.sort().join('\n')}`
}

/** The type of something without a sentence: names of Paddle's, which its own documentation explains. */
function kindOf(symbol) {
  const [declaration] = symbol.declarations
  if (ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration)) return 'a type'
  if (ts.isFunctionDeclaration(declaration) || ts.isClassDeclaration(declaration)) {
    const type = checker.getTypeOfSymbolAtLocation(symbol, declaration)
    const [signature] = ts.isClassDeclaration(declaration) ? type.getConstructSignatures() : type.getCallSignatures()
    return `\`${checker.signatureToString(signature, declaration).replace(', ...rest }', ' }')}\``
  }
  return 'a value'
}

/** As they are, not as somebody once wrote them down. */
async function optimizerDefaults() {
  const { optimizer } = await import('../dist/index.js')
  const rows = Object.entries(optimizer).map(([name, make]) => {
    const { kind: _, ...values } = make()
    const text = Object.entries(values).map(([key, value]) => `\`${key}: ${value}\``)
    return `| \`optimizer.${name}\` | ${text.join(', ')} |`
  })
  return `| constructor | what it sets unless told otherwise |\n| --- | --- |\n${rows.join('\n')}\n\nBeside these each takes \`l2\`, \`schedule\` and \`clip\`; none is set by default.`
}
