/**
 * @file `node scripts/release-fixtures.mjs`, once when a release is cut: what this version writes, kept in test/fixtures/releases/<version>/ so that
 * later versions are tested on it (test/releases.test.ts). `model/` there is a user's folder; a new version begins with that of the one before.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from './setup.mjs'

const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
const RELEASES = at('test/fixtures/releases')
const ps = ['launch', '--worker_num=2', '--server_num=2', '--log_dir=log', 'tools/static_ps_trainer.py']
const ranks = ['launch', '--nproc_per_node', '2', '--log_dir', 'log', 'tools/static_trainer.py']
/** By name: how each checkpoint comes about, and the config that reads it. */
const CHECKPOINTS = {
  alone: { command: ['train'], config: 'config.yaml' },
  accessor: { command: ['train'], config: 'config-accessor.yaml' },
  servers: { command: ps, config: 'config.yaml' },
  ranks: { command: ranks, config: 'config.yaml', settings: ['runner.use_fleet=True', 'runner.replicated_table_mb=0'] },
}

const release = join(RELEASES, version)
if (!existsSync(join(release, 'model')))
  cpSync(join(RELEASES, newestBefore(), 'model'), join(release, 'model'), { recursive: true })
const folder = mkdtempSync(join(tmpdir(), 'oarfish-release-'))
try {
  write(release)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function write(release) {
  cpSync(join(release, 'model'), folder, { recursive: true })
  const expected = { checkpoints: {} }
  for (const [name, { command, config, settings = [] }] of Object.entries(CHECKPOINTS)) {
    oarfish(...command, '-m', config, '-o', `runner.model_save_path=${name}`, ...settings)
    keep(`${name}/0`, `checkpoints/${name}`)
    const evaluated = oarfish('infer', '-m', config, '-o', `runner.infer_load_path=${name}`, '--json')
    const more = ['-o', `runner.model_save_path=${name}-more`, `runner.model_init_path=${name}/0`, '--json']
    const trained = oarfish('train', '-m', config, ...more)
    expected.checkpoints[name] = {
      config,
      evaluation: lastEvent(evaluated).metrics,
      trainedOn: lastEvent(trained).evaluation,
    }
  }
  oarfish('export', '-m', 'config.yaml', '-o', 'runner.model_save_path=alone', '--out', 'exported', '--fold')
  keep('exported', 'export')
  expected.scores = oarfish('predict', '--model', 'exported', 'data/test/part-0').trim().split('\n').map(Number)
  writeFileSync(join(release, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`)
}

function oarfish(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [at('bin/oarfish.js'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`oarfish ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`)
  return stdout
}

function lastEvent(lines) {
  return JSON.parse(lines.trim().split('\n').at(-1))
}

function keep(from, to) {
  rmSync(join(release, to), { recursive: true, force: true })
  cpSync(join(folder, from), join(release, to), { recursive: true })
}

function newestBefore() {
  return readdirSync(RELEASES)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1)
}
