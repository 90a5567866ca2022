/** @file Calls of the model's own methods: `self._init_hyper_parameters()` is followed where it stands. */
import type { Call } from './ast.ts'
import { bound, givenTo } from './given.ts'
import type { Scope } from './house.ts'
import { variableName } from './names.ts'
import { evaluate, follow } from './recursion.ts'
import { type Frame, Unported } from './session.ts'
import type { Expr } from './value.ts'

export function modelCall(scope: Scope, node: Call, name: string): Expr {
  const { session, frame } = scope
  const own = session.model
  const method = own?.methods.get(name)
  if (!own || !method) throw new Unported(`self.${name} has no value here`)
  const given = givenTo(scope, node)
  const params = method.args.args.map(({ arg }) => arg).slice(1)
  const byName = bound(params, given, name)
  const record = session.record(method, own.file)
  const vars = new Map<string, Expr>()
  const inner: Frame = { ...frame, record, file: own.file, vars, target: undefined }
  const texts = params.map((param, i) => {
    const typed = byName[param]
    const usual = method.args.defaults[i - (params.length - method.args.defaults.length)]
    if (!typed && !usual) throw new Unported(`${name} without ${param}`)
    const { value } = typed ?? evaluate({ session, frame: inner }, usual!)
    // Where nothing is written a parameter stands for its argument.
    vars.set(param, frame.substitute && typed ? typed : { value, text: variableName(param), atom: true })
    record.params.set(param, [...(record.params.get(param) ?? []), value])
    return typed?.text ?? 'undefined'
  })
  const value = follow({ session, frame: inner })
  if (frame.substitute) return { value, text: '' }
  session.methods.add(method)
  return { value, text: `${variableName(name)}(${['hyper', ...texts].join(', ')})`, atom: true }
}
