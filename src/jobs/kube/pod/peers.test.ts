import { expect, test } from 'vitest'
import { UserError } from '../../../base/util/index.ts'
import { KubeError } from '../errors.ts'
import { RESOURCES } from '../paths.ts'
import { patient } from './peers.ts'

const EMPTY = { metadata: {}, items: [] }
function asked(failures: readonly Error[]) {
  const left = [...failures]
  const said: string[] = []
  const list = async (_resource: unknown) => {
    const failure = left.shift()
    if (failure) throw failure
    return EMPTY as never
  }
  const options = { say: (line: string) => void said.push(line), signal: AbortSignal.timeout(100_000) }
  return { answer: patient({ list }, options).list(RESOURCES.Pod), said }
}

test('an API server that is away for a moment is asked again', async () => {
  const away = new UserError('It cannot be reached.', { code: 'KUBE_UNREACHABLE' })
  const { answer, said } = asked([away, new KubeError(503, 'It is overloaded.', { code: 'KUBE_REFUSED' })])
  expect(await answer).toBe(EMPTY)
  expect(said).toEqual(['It cannot be reached. Trying again.', 'It is overloaded. Trying again.'])
})

test('a right that is missing is reported at once', async () => {
  const { answer } = asked([new KubeError(403, 'It may not list pods.', { code: 'KUBE_FORBIDDEN' })])
  await expect(answer).rejects.toThrow('It may not list pods.')
})
