/** @file Values as Python and NumPy print them, for lines that existing log parsers already read. */

const SMALLEST_FIXED = 1e-4
const LARGEST_FIXED = 1e8

/** `str(value)` for what stands in a configuration. */
export function pythonText(value: unknown): string {
  if (value === undefined || value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value))
    return `[${value.map((item) => (typeof item === 'string' ? `'${item}'` : pythonText(item))).join(', ')}]`
  return String(value)
}

/** A float32 scalar as NumPy's array text has it inside the brackets: `0.6931472`, `1.`, `1.5e-05`, `nan`. */
export function numpyText(value: number): string {
  const rounded = Math.fround(value)
  if (Number.isNaN(rounded)) return 'nan'
  if (!Number.isFinite(rounded)) return rounded > 0 ? 'inf' : '-inf'
  const size = Math.abs(rounded)
  if (size === 0 || (size >= SMALLEST_FIXED && size < LARGEST_FIXED)) return withPoint(shortestFixed(rounded))
  const [mantissa, exponent] = shortest(rounded).toExponential().split('e') as [string, string]
  return `${withPoint(mantissa)}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`
}

/** `2026-01-31 08:05:09,042`: the default asctime of Python's logging, in local time. */
export function asctime(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${day} ${time},${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** NumPy shows at most eight digits after the point. */
function shortestFixed(value: number): string {
  return String(Number(shortest(value).toFixed(8)))
}

/** The number with the fewest digits that is still this float32. */
function shortest(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const candidate = Number(value.toPrecision(digits))
    if (Math.fround(candidate) === value) return candidate
  }
  return Number(value.toPrecision(9))
}

function withPoint(digits: string): string {
  return digits.includes('.') ? digits : `${digits}.`
}
