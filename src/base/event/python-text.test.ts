import { expect, test } from 'vitest'
import { asctime, numpyText, pythonText } from './python-text.ts'

// Right: what str(numpy.array([x], 'float32')) shows inside its brackets, recorded from NumPy 2.
test.each([
  [Math.LN2, '0.6931472'],
  [0.5, '0.5'],
  [0.1, '0.1'],
  [1, '1.'],
  [0, '0.'],
  [-3.25, '-3.25'],
  [123456.789, '123456.79'],
  [0.000123456789, '0.00012346'],
  [0.00001, '1.e-05'],
  [0.0000123456789, '1.2345679e-05'],
  [123456789, '1.2345679e+08'],
  [Number.NaN, 'nan'],
  [Number.NEGATIVE_INFINITY, '-inf'],
])('prints %d as NumPy does', (value, text) => {
  expect(numpyText(value)).toBe(text)
})

test('prints settings as Python does', () => {
  expect([true, false, null, undefined, 3, 0.1, 'a b', ['x', 1, true]].map(pythonText)).toEqual([
    'True',
    'False',
    'None',
    'None',
    '3',
    '0.1',
    'a b',
    "['x', 1, True]",
  ])
})

test('prints times as the default of Python logging does', () => {
  expect(asctime(new Date(2026, 1, 3, 4, 5, 6, 7))).toBe('2026-02-03 04:05:06,007')
})
