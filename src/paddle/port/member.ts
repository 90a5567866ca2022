/** @file x.name: fields and methods of objects, parts of modules, shapes of tensors, weights of layers. */
import { house, type Scope } from './house.ts'
import { memberName } from './names.ts'
import { isTensor } from './operators.ts'
import { lookUp, MODULE } from './scope.ts'
import { Unported } from './session.ts'
import { type Expr, list, num, said, type Value } from './value.ts'

export function memberOf(scope: Scope, base: Expr, name: string, own = false): Expr {
  const { value } = base
  if (value.kind === 'name' && value.path === MODULE) return lookUp(scope, name)
  if (value.kind === 'name') return { value: { kind: 'name', path: `${value.path}.${name}` }, text: '' }
  if (value.kind === 'object') {
    const field = value.fields.get(name)
    if (field) return { value: field, text: `${base.text}.${memberName(name)}`, atom: true }
    const method = value.own.methods.get(name)
    if (method)
      return {
        value: { kind: 'method', self: value, node: method },
        text: `${base.text}.${memberName(name)}`,
        atom: true,
      }
    if (name === 'training' && own)
      throw new Unported('self.training: nn.phase(x, y) is x while training and y at inference')
    throw new Unported(`${value.own.node.name} has no ${name}`)
  }
  if (isTensor(value) && name === 'shape') return shapeOf(scope, base)
  if (isTensor(value) && name === 'T') return house(scope, 'transpose', base)
  if (value.kind === 'layer' && (name === 'weight' || name === 'bias') && value.type === 'nn.Linear') {
    const variable = (value.layer as unknown as Readonly<Record<string, { on(b: unknown): never } | undefined>>)[name]
    if (variable)
      return {
        value: { kind: 'variable', tensor: variable.on(scope.session.builder), variable: undefined },
        text: `${base.text}.${name}${name === 'bias' ? '!' : ''}`,
        atom: true,
      }
  }
  throw new Unported(`.${name} of ${said(value)}`)
}

function shapeOf(_scope: Scope, { value, text }: Expr): Expr {
  if (value.kind !== 'tensor' || !value.tensor) throw new Unported('the shape of something that was not translated')
  const dims = value.tensor.shape.map((dim): Value => (typeof dim === 'number' ? num(dim) : { kind: 'dim', dim }))
  return { value: list(dims), text: `${text}.shape`, atom: true }
}
