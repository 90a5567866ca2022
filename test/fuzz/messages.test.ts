/** @file Messages between processes: each that is right is taken by its reader, and wrong ones by none. */
import { expect, test } from 'vitest'
import { GATHERED, takersOf } from './gathered-target.ts'
import { MESSAGES, readersOf } from './message-targets.ts'

const taken = (value: unknown) => readersOf(Buffer.from(JSON.stringify(value)))

test.each(MESSAGES.map((message) => [JSON.stringify(message).slice(0, 60), message] as const))(
  '%s is taken',
  (_, message) => {
    expect(taken(message)).not.toEqual([])
  },
)

const FILE = { bytes: 3, sha256: 'a'.repeat(64), executable: false }
const task = MESSAGES.find((message) => 'jobId' in message) as unknown as {
  readonly job: { readonly files: readonly object[] }
}
const row = MESSAGES.find((message) => (message as { kind?: string }).kind === 'row')!
test.each<[string, unknown]>([
  ['a node that is not among them', { ...task, node: 2 }],
  ['the id of a job that leads out of a folder', { ...task, jobId: '../../etc' }],
  [
    'a file that leads out of a folder',
    { ...task, job: { ...task.job, files: [{ name: '../x', content: { text: '' } }] } },
  ],
  [
    'a file of two contents',
    { ...task, job: { ...task.job, files: [{ name: 'x', content: { text: '', path: '/etc' } }] } },
  ],
  ['a field that nobody knows', { ...task, extra: 1 }],
  ['a row that is none', { ...row, row: { isStored: 'yes', weight: 'many', state: [] } }],
  ['a key that is no sign', { ...row, key: '1; rm -rf /' }],
  [
    'a file that a host would put elsewhere',
    { folder: '/job', files: [{ ...FILE, path: '../../.ssh/authorized_keys' }] },
  ],
  ['a note of no kind', { note: { kind: 'other', role: 'worker', rank: 0 } }],
  ['a process at rank -1', { note: { kind: 'output', role: 'worker', rank: -1, line: '' } }],
])('%s is refused', (_, message) => {
  expect(taken(message)).toEqual([])
})

test.each(GATHERED.map((value) => [JSON.stringify(value).slice(0, 60), value] as const))(
  'brought by one that trains, %s is taken',
  (_, value) => {
    expect(takersOf(Buffer.from(JSON.stringify(value)))).toBeGreaterThan(0)
  },
)
