/** @file Symbolic dimensions: integer polynomials over named symbols, kept as canonical text such as `B`, `B*T` or `T+2`. */

/** A size known now (a number) or at run time (a symbol, or a polynomial of symbols such as `2*B+1`). */
export type Dim = number | string
/** Sizes of a tensor, axis by axis; the batch is the symbol `B`. */
export type Shape = readonly Dim[]

/** Coefficient per monomial; a monomial is its sorted symbols joined by `*`, the constant term is the empty monomial. */
type Polynomial = ReadonlyMap<string, number>

export function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (a === 0) return b
  if (b === 0) return a
  const sum = new Map(parseDim(a))
  for (const [monomial, coefficient] of parseDim(b)) sum.set(monomial, (sum.get(monomial) ?? 0) + coefficient)
  return formatDim(sum)
}

export function mulDims(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a * b + 0 // never -0
  if (a === 1) return b
  if (b === 1) return a
  const product = new Map<string, number>()
  for (const [left, m] of parseDim(a)) {
    for (const [right, n] of parseDim(b)) {
      const monomial = [...symbolsOf(left), ...symbolsOf(right)].sort().join('*')
      product.set(monomial, (product.get(monomial) ?? 0) + m * n)
    }
  }
  return formatDim(product)
}

export function subDims(a: Dim, b: Dim): Dim {
  return addDims(a, mulDims(-1, b))
}

/** a / b where b is one term and divides every term of a; undefined where it does not. */
export function divDims(a: Dim, b: Dim): Dim | undefined {
  if (b === 1) return a
  const divisor = [...parseDim(b)]
  if (divisor.length !== 1) return a === b ? 1 : undefined
  const [monomial, coefficient] = divisor[0]!
  const quotient = new Map<string, number>()
  for (const [term, n] of parseDim(a)) {
    const rest = symbolsOf(term)
    for (const symbol of symbolsOf(monomial)) {
      const index = rest.indexOf(symbol)
      if (index < 0) return undefined
      rest.splice(index, 1)
    }
    if (n % coefficient !== 0) return undefined
    quotient.set(rest.join('*'), n / coefficient)
  }
  return formatDim(quotient)
}

/** The number of elements of a shape. */
export function sizeOf(shape: Shape): Dim {
  return shape.reduce(mulDims, 1)
}

/** The value of a dimension when every symbol's size is known. */
export function evaluateDim(dim: Dim, size: (symbol: string) => number): number {
  if (typeof dim === 'number') return dim
  let sum = 0
  for (const [monomial, coefficient] of parseDim(dim)) {
    sum += symbolsOf(monomial).reduce((product, symbol) => product * size(symbol), coefficient)
  }
  return sum
}

/** A dimension as terms, for code that computes it at run time. */
export function dimTerms(dim: Dim): readonly { readonly coefficient: number; readonly symbols: readonly string[] }[] {
  return [...parseDim(dim)].map(([monomial, coefficient]) => ({ coefficient, symbols: symbolsOf(monomial) }))
}

/** Whether a text can name a symbol. */
export function isSymbol(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name)
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i])
}

export function formatShape(shape: Shape): string {
  return `[${shape.join(', ')}]`
}

function parseDim(dim: Dim): Polynomial {
  if (typeof dim === 'number') return new Map(dim === 0 ? [] : [['', dim]])
  const terms = new Map<string, number>()
  for (const term of dim.replaceAll('-', '+-').split('+')) {
    if (term === '') continue
    const factors = term.replace(/^-(?=[A-Za-z_])/, '-1*').split('*')
    const symbols = factors.filter((factor) => !/^-?\d/.test(factor)).sort()
    const coefficient = factors.filter((factor) => /^-?\d/.test(factor)).reduce((n, factor) => n * Number(factor), 1)
    const monomial = symbols.join('*')
    terms.set(monomial, (terms.get(monomial) ?? 0) + coefficient)
  }
  return terms
}

function formatDim(polynomial: Polynomial): Dim {
  const terms = [...polynomial]
    .filter(([, n]) => n !== 0)
    .sort(([a], [b]) => Number(a === '') - Number(b === '') || (a < b ? -1 : 1))
  if (terms.every(([monomial]) => monomial === '')) return (terms[0]?.[1] ?? 0) + 0
  const text = terms
    .map(([monomial, n]) => (monomial === '' ? `${n}` : n === 1 ? monomial : `${n}*${monomial}`))
    .join('+')
  return text.replaceAll('+-', '-').replaceAll('-1*', '-')
}

function symbolsOf(monomial: string): string[] {
  return monomial === '' ? [] : monomial.split('*')
}
