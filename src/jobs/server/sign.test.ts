/** @file Signatures: what is refused, and why. */
import { describe, expect, test } from 'vitest'
import { createVerifier, HEADERS, hashOf, sign } from './sign.ts'

const KEYS = { ak: 'access', sk: 'secret' }
const REQUEST = { method: 'POST', path: '/v1/jobs?x=1', hash: hashOf('{}') }
const NOW = 1_700_000_000_000

describe('a request', () => {
  test('that is signed is taken, once', () => {
    const verifier = verifierAt(NOW)
    const headers = sign(REQUEST, KEYS, NOW)
    expect(verifier.refusal(REQUEST, headers)).toBeUndefined()
    expect(verifier.refusal(REQUEST, headers)).toBe('replayed')
    expect(verifier.refusal(REQUEST, sign(REQUEST, KEYS, NOW))).toBeUndefined()
  })

  test.each([
    ['another path', { ...REQUEST, path: '/v1/jobs' }],
    ['another method', { ...REQUEST, method: 'GET' }],
    ['another body', { ...REQUEST, hash: hashOf('[]') }],
  ])('with %s than was signed is refused', (_what, changed) => {
    expect(verifierAt(NOW).refusal(changed, sign(REQUEST, KEYS, NOW))).toBe('wrong signature')
  })

  test('of another key, without one, or of another time is refused', () => {
    const verifier = verifierAt(NOW)
    expect(verifier.refusal(REQUEST, sign(REQUEST, { ...KEYS, ak: 'other' }, NOW))).toBe('unknown key')
    expect(verifier.refusal(REQUEST, sign(REQUEST, { ...KEYS, sk: 'other' }, NOW))).toBe('wrong signature')
    expect(verifier.refusal(REQUEST, {})).toBe('unsigned')
    expect(verifier.refusal(REQUEST, sign(REQUEST, KEYS, NOW - 6 * 60_000))).toBe('clock')
    const nonsense = { ...sign(REQUEST, KEYS, NOW), [HEADERS.time]: 'soon' }
    expect(verifier.refusal(REQUEST, nonsense)).toBe('wrong signature')
  })

  test('stays refused as a replay for as long as its time would be taken', () => {
    let now = NOW
    const verifier = createVerifier(
      () => 'secret',
      () => now,
    )
    const headers = sign(REQUEST, KEYS, NOW)
    verifier.refusal(REQUEST, headers)
    for (now = NOW; now <= NOW + 5 * 60_000; now += 10_000) {
      verifier.refusal(REQUEST, sign(REQUEST, KEYS, now))
      expect(verifier.refusal(REQUEST, headers)).toBe('replayed')
    }
    now = NOW + 5 * 60_000 + 1
    expect(verifier.refusal(REQUEST, headers)).toBe('clock')
  })
})

const verifierAt = (now: number) =>
  createVerifier(
    (ak) => (ak === KEYS.ak ? KEYS.sk : undefined),
    () => now,
  )
