/** @file Python's names as TypeScript's: those that mean something else there get another ending. */

const WORDS = new Set(
  (
    'break case catch class const continue debugger default delete do else enum export extends false finally for function if implements import in ' +
    'instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with ' +
    'yield await async of eval arguments undefined NaN Math String Number Array Object ' +
    // of the draft itself
    'nn z metric optimizer optimizerKeys defineModel inputs hyper run builder range lookup unported Apply Sequential LayerList DenseEmbedding feeds OptimizerSpec'
  ).split(' '),
)

/** Members of nn.Layer, which a field of the same name would hide. */
const LAYER = new Set(
  'training addParameter addState addSublayer named path sublayers parameters stateDict tables train eval constructor'.split(
    ' ',
  ),
)

export const variableName = (name: string): string => (WORDS.has(name) ? `${name}_` : name)
export const memberName = (name: string): string => (LAYER.has(name) ? `${name}_` : name)

/** A string as TypeScript, in the house's quotes. */
export function literal(value: string): string {
  const body = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${body}'`
}

/** A name as a key of an object. */
export const keyText = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name))
