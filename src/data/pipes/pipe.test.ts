import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { collect, type PlainSample, randomSamples, SLOTS, testReader } from '../../../test/contracts/reader.ts'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import { openReader, openReaderPool, type ReaderOptions } from '../reader-pool.ts'
import { pipeCommand } from './pipe-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-pipe-'))
afterAll(() => rmSync(folder, { recursive: true }))

const line = ([[click], a, b, dense]: PlainSample) => [1, click, a.length, ...a, b.length, ...b, 3, ...dense].join(' ')
const textOf = (samples: readonly PlainSample[]) => samples.map((sample) => `${line(sample)}\n`).join('')
const put = (dir: string, name: string, content: string | Uint8Array) => {
  writeFileSync(join(dir, name), content)
  return join(dir, name)
}
const broken = (samples: readonly PlainSample[]) => `${textOf(samples)}1 0 0\n${line(samples[0]!)}\n`

testReader({
  name: 'what cat prints',
  write: (dir, name, samples) => put(dir, name, textOf(samples)),
  writeBroken: (dir, name, samples) => put(dir, name, broken(samples)),
  options: { pipe: { command: 'cat', dir: folder } },
  withChecksum: true,
})
testReader({
  name: 'what a command prints for gzip files',
  write: (dir, name, samples) => put(dir, `${name}.gz`, gzipSync(textOf(samples))),
  writeBroken: (dir, name, samples) => put(dir, `${name}.gz`, gzipSync(broken(samples))),
  options: { pipe: { command: 'grep . | cat', dir: folder } },
  withChecksum: true,
})

const samples = randomSamples(20)
const data = put(folder, 'data', textOf(samples))
const read = (command: string, options: Partial<ReaderOptions> = {}) =>
  openReader({
    files: [data],
    slots: SLOTS,
    batchSize: 4,
    threads: 1,
    epoch: 0,
    pipe: { command, dir: folder },
    ...options,
  })
const samplesOf = async (...args: Parameters<typeof read>) =>
  (await collect(read(...args))).flatMap((batch) => batch.samples)
async function errorOf(...args: Parameters<typeof read>): Promise<string> {
  const error = await samplesOf(...args).catch((thrown: unknown) => thrown)
  if (!isUserError(error)) throw error ?? new Error('expected an error')
  return formatUserError(error).replaceAll(`${folder}/`, '')
}

describe('a pipe', () => {
  test.each([
    ['no-such-program-here', /^data runner\.pipe_command failed: the command was not found \(exit status 127\)\./],
    [
      'echo "oh dear" >&2; cat; exit 3',
      /failed: it ended with exit status 3\.\n[\s\S]*cd [\s\S]* && echo[\s\S]*< data\n +Its last lines on stderr:\n +oh dear/,
    ],
    ['cat >/dev/null', /^data runner\.pipe_command printed nothing on stdout\./],
    ['cat >/dev/null; echo; echo', /printed nothing on stdout/],
    ['kill -9 $$', /failed: it was ended by SIGKILL/],
    [
      'sed 2s/1/x/',
      /^data:2:1 Slot 1 \("click"\): expected the number[\s\S]*Lines are counted in what runner.pipe_command printed/,
    ],
  ])('%s stops the job with what happened', async (command, message) => {
    expect(await errorOf(command)).toMatch(message)
  })

  test('leaves bad lines out under skip', async () => {
    const notices: string[] = []
    const kept = await samplesOf('sed 2s/1/x/', { onBadLine: 'skip', onNotice: (message) => notices.push(message) })
    expect(kept).toEqual([samples[0], ...samples.slice(2)])
    expect(notices).toEqual(['1 lines could not be parsed and were left out (runner.on_bad_line: skip).'])
  })

  test('runs in its folder, one process per file, with Python told where the stand-ins are and how to hash', async () => {
    const files = [data, put(folder, 'more', textOf(samples))]
    const command = 'pwd >> calls; echo "$PYTHONPATH $PYTHONHASHSEED" >> calls; cat'
    await samplesOf(command, { files, pipe: { command, dir: folder, pythonPath: '/stand ins' } })
    const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')
    expect(calls).toHaveLength(4)
    expect(calls[0]).toBe(folder)
    expect(calls[1]).toMatch(/(^|:)\/stand ins \d+$/)
  })

  test('of a damaged gzip file is told as such', async () => {
    const whole = gzipSync(textOf(randomSamples(5000)))
    const cut = put(folder, 'cut.gz', whole.subarray(0, whole.length / 2))
    expect(await errorOf('cat', { files: [cut] })).toMatch(/^cut\.gz The gzip file is damaged or cut off/)
  })

  test('waits for a slow consumer', async () => {
    const command = 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i > progress; cat ten; done'
    put(folder, 'ten', textOf(randomSamples(100)))
    const reader = read(command)
    for await (const batch of reader) {
      expect(batch.index).toBe(0)
      const progress = () => Number(readFileSync(join(folder, 'progress'), 'utf8'))
      let first = -1
      for (let now = progress(); now !== first; now = progress()) {
        first = now
        await setTimeout(700)
      }
      expect(first).toBeLessThan(3000)
      break
    }
  })

  test.each(['leaving the loop', 'closing the reader', 'closing the pool'])(
    'is killed with all it started by %s',
    async (how) => {
      const pool = openReaderPool({
        slots: SLOTS,
        threads: 1,
        pipe: { command: 'cat ten; echo $$ > pid; sleep 1000 | cat', dir: folder },
      })
      put(folder, 'ten', textOf(randomSamples(20_000)))
      rmSync(join(folder, 'pid'), { force: true })
      const reader = pool.read({ files: [data], batchSize: 4, epoch: 0 })
      const reading = (async () => {
        for await (const _ of reader) {
          while (pid() === 0) await setTimeout(20)
          if (how === 'leaving the loop') break
        }
      })().catch(() => 'closed')
      while (pid() === 0) await setTimeout(20)
      if (how === 'closing the reader') await reader.close()
      if (how === 'closing the pool') await pool.close()
      await reading
      await expect.poll(() => alive(pid()), { timeout: 15_000 }).toEqual([])
      await pool.close()
    },
  )

  test('may say as much on stderr as it likes, before, during and after its output', async () => {
    const much = 'head -c 3000000 /dev/zero | tr "\\0" x >&2'
    expect(await samplesOf(`${much}; cat; ${much}`)).toEqual(samples)
    expect(await samplesOf(`cat; exec 1>&-; ${much}; sleep 0.3`)).toEqual(samples)
    expect(await errorOf(`${much}; echo "the end" >&2; exit 5`)).toMatch(/exit status 5[\s\S]*x\n? *the end/)
  })

  test('in a folder that does not exist says that it could not be started', async () => {
    expect(await errorOf('cat', { pipe: { command: 'cat', dir: join(folder, 'gone') } })).toMatch(
      /could not be started/,
    )
  })

  test('that leaves a process behind which keeps its output open holds nobody up', async () => {
    const command = 'setsid sleep 600 & echo $! > behind; cat ten; sleep 1000'
    put(folder, 'ten', textOf(randomSamples(20)))
    const pool = openReaderPool({ slots: SLOTS, threads: 1, pipe: { command, dir: folder } })
    const behind = join(folder, 'behind')
    const began = performance.now()
    try {
      for (let round = 0; round < 2; round++) {
        rmSync(behind, { force: true })
        const reader = pool.read({ files: [data], batchSize: 4, epoch: 0 })
        await expect.poll(() => existsSync(behind)).toBe(true)
        await reader.close()
      }
      await pool.close()
      expect(performance.now() - began).toBeLessThan(300_000)
    } finally {
      process.kill(Number(readFileSync(behind, 'utf8')), 'SIGKILL')
    }
  })

  test('leaves nothing in the folder of temporary files', async () => {
    const before = fifoFolders()
    const pool = openReaderPool({ slots: SLOTS, threads: 2, pipe: { command: 'cat', dir: folder } })
    await collect(pool.read({ files: [data], batchSize: 4, epoch: 0 }))
    await pool.close()
    expect(fifoFolders().filter((name) => !before.includes(name) && owner(name) === process.pid)).toEqual([])
  })

  function fifoFolders(): readonly string[] {
    return readdirSync(tmpdir()).filter((name) => name.includes('-fifo-'))
  }
  function owner(name: string): number {
    return Number(name.split('-')[2])
  }

  function pid(): number {
    try {
      return Number(readFileSync(join(folder, 'pid'), 'utf8'))
    } catch {
      return 0
    }
  }
  /** Of the group, the shell until it is gone; what it started belongs to the system once dead, which takes it away when it likes. */
  function alive(group: number): readonly string[] {
    const lines = spawnSync('ps', ['-eo', 'pgid=,pid=,stat=,args='], { encoding: 'utf8' }).stdout.split('\n')
    return lines.filter((line) => {
      const [pgid, pid, stat] = line.trim().split(/\s+/)
      return Number(pgid) === group && (Number(pid) === group || !stat!.startsWith('Z'))
    })
  }

  test('that gives other samples on resume is refused', async () => {
    const [, second] = await collect(read('cat'))
    const start = { ...second!.cursor, batch: 2 }
    expect((await collect(read('cat', { start }))).map(({ index }) => index)).toEqual([2, 3, 4])
    expect(await errorOf('tac', { start })).toMatch(/^data The first 8 samples of this file are others/)
    expect(await errorOf('head -n 5', { start })).toMatch(/^data The first 8 samples of this file are others/)
  })
})

describe('pipeCommand', () => {
  const options = { yaml: '/a b/config.yaml', dir: '/a b', cwd: folder }
  test('appends the yaml and the folder of common_ps, but not for tools that would read them', () => {
    expect(pipeCommand({ ...options, command: 'python reader.py' }).command).toMatch(
      /^python reader\.py '\/a b\/config\.yaml' \S*python$/,
    )
    expect(pipeCommand({ ...options, command: 'cat' }).command).toBe('cat')
    expect(pipeCommand({ ...options, command: 'python x.py | head -n 5' }).command).toBe('python x.py | head -n 5')
  })

  test('runs beside the yaml, or in the working folder if only there the named file is', () => {
    put(folder, 'here.py', '')
    expect(pipeCommand({ ...options, command: 'python here.py' }).dir).toBe(folder)
    expect(pipeCommand({ ...options, command: 'python there.py' }).dir).toBe('/a b')
  })
})
