/** @file Names: variables, then what the file imports and defines, then Python's own. */
import type { Expression, PythonFile, Statement } from './ast.ts'
import type { Scope } from './house.ts'
import { variableName } from './names.ts'
import { Unported } from './session.ts'
import type { Expr } from './value.ts'

/** `import net`: its names are those of the files that are read. */
export const MODULE = '$module'

const BUILTINS = new Set(
  'len range enumerate zip str int float list tuple sum max min abs pow print isinstance super reversed sorted map dict bool round'.split(
    ' ',
  ),
)

export function lookUp({ session, frame }: Scope, name: string): Expr {
  const known = frame.vars.get(name)
  if (known) return known
  if (name === 'self' && frame.self) return { value: frame.self, text: 'this', atom: true }
  const own = session.classes.get(name)
  if (own) return { value: { kind: 'class', own }, text: name, atom: true }
  const imported = importsOf(frame.file).get(name)
  const module = session.files.find((file) => file.name === `${imported}.py`)
  if (module) return { value: { kind: 'name', path: MODULE }, text: '' }
  if (imported) return { value: { kind: 'name', path: imported }, text: '' }
  const fn = session.functions.get(name)
  if (fn) return { value: { kind: 'function', ...fn }, text: variableName(name), atom: true }
  if (BUILTINS.has(name)) return { value: { kind: 'name', path: name }, text: '' }
  throw new Unported(`${name} has no value here`)
}

const IMPORTS = new WeakMap<PythonFile, ReadonlyMap<string, string>>()

/** What each imported name stands for: F is paddle.nn.functional. */
function importsOf(file: PythonFile): ReadonlyMap<string, string> {
  const known = IMPORTS.get(file)
  if (known) return known
  const own = new Map<string, string>()
  for (const node of file.tree.body)
    for (const [name, path] of [...importedBy(node), ...renamedBy(node, own)]) own.set(name, path)
  IMPORTS.set(file, own)
  return own
}

/** `initializer = nn.initializer` beside the imports. */
function renamedBy(node: Statement, known: ReadonlyMap<string, string>): (readonly [string, string])[] {
  const [target] = node._ === 'Assign' ? node.targets : []
  const path = node._ === 'Assign' && pathOf(node.value, known)
  return target?._ === 'Name' && path ? [[target.id, path]] : []
}

function pathOf(node: Expression, known: ReadonlyMap<string, string>): string | undefined {
  if (node._ === 'Name') return known.get(node.id)
  const base = node._ === 'Attribute' ? pathOf(node.value, known) : undefined
  return base && node._ === 'Attribute' ? `${base}.${node.attr}` : undefined
}

function importedBy(node: Statement): (readonly [string, string])[] {
  if (node._ === 'Import')
    return node.names.map(({ name, asname }) => (asname ? [asname, name] : [name.split('.')[0]!, name.split('.')[0]!]))
  if (node._ === 'ImportFrom')
    return node.names.map(({ name, asname }) => [asname ?? name, `${node.module ?? ''}.${name}`])
  if (node._ === 'Try') return (node as unknown as { body: Statement[] }).body.flatMap(importedBy)
  return []
}
