/** @file v1's command lines: what is read, and what each mistake is called. */
import { expect, test } from 'vitest'
import { TRAINER_OPTIONS } from './option-table.ts'
import { checkTrainerOptions, fillTrainerOptions, isLocal, parseTrainerOptions } from './options.ts'

const RUN_SH =
  '--config=./trainer_config.py --dot_period=10 --ports_num_for_sparse=2 --log_period=50 --num_passes=10 --trainer_count=4 --saving_period=1 --local=0 --save_dir=./output --use_gpu=0'
const LAUNCHER =
  '--num_gradient_servers=2 --nics=eth0 --port=7164 --ports_num=2 --comment=paddle_process_by_paddle --pservers=10.0.0.1,10.0.0.2 --trainer_id=1'

test("the original's run.sh with what its launcher adds is read in full", () => {
  const { typed, problems } = parseTrainerOptions(`${RUN_SH} ${LAUNCHER}`.split(' '), 'trainer')
  expect(problems).toEqual([])
  expect(typed).toEqual({
    ...{ config: './trainer_config.py', dot_period: 10, ports_num_for_sparse: 2, log_period: 50, num_passes: 10 },
    ...{ trainer_count: 4, saving_period: 1, local: false, save_dir: './output', use_gpu: false },
    ...{ num_gradient_servers: 2, nics: 'eth0', port: 7164, ports_num: 2, comment: 'paddle_process_by_paddle' },
    ...{ pservers: '10.0.0.1,10.0.0.2', trainer_id: 1 },
  })
})

test("the launcher's line of a server is read in full", () => {
  const line =
    '--num_gradient_servers=2 --nics=eth0 --port=7164 --ports_num=2 --ports_num_for_sparse=2 --comment=paddle_process_by_paddle'
  expect(checkTrainerOptions(line.split(' '), 'pserver')).toEqual([])
})

test('values stand behind a sign or a space, flags also alone or negated', () => {
  const read = (line: string) => parseTrainerOptions(line.split(' '), 'trainer')
  expect(read('--num_passes 3 -trainer_count=2 --use_gpu false --local')).toEqual({
    typed: { num_passes: 3, trainer_count: 2, use_gpu: false, local: true },
    problems: [],
  })
  expect(read('--log_period=1 --nouse_gpu --log_period=0').typed).toEqual({ use_gpu: false, log_period: 0 })
})

test("what is not typed has the original's defaults", () => {
  expect(fillTrainerOptions({ port: 7164 })).toMatchObject({ port: 7164, num_passes: 100, saving_period: 1 })
  expect([isLocal({}), isLocal({ pservers: 'a' }), isLocal({ pservers: 'a', local: true })]).toEqual([
    true,
    false,
    true,
  ])
})

test.each([
  ['--log_perod=5', 'There is no option --log_perod - did you mean --log_period?'],
  ['--verbose --use_gpu=0', 'There is no option --verbose.'],
  ['now', '"now" is not an option.'],
  ['--num_passes', '--num_passes needs a value.'],
  ['--num_passes --use_gpu=0', '--num_passes needs a value.'],
  ['--num_passes=0', '--num_passes: expected a whole number from 1 to 2147483647, got "0".'],
  ['--num_passes=', '--num_passes: expected a whole number from 1 to 2147483647, got "".'],
  ['--use_gpu=yes', '--use_gpu: expected 0 or 1, got "yes".'],
  [
    '--trainer_id=2 --num_gradient_servers=2',
    '--trainer_id=2: a job of --num_gradient_servers=2 has the trainers 0 to 1.',
  ],
  [
    '--port=65535 --ports_num=2',
    '--port=65535: with --ports_num=2 and --ports_num_for_sparse=0 the last port would be 65536.',
  ],
  ['--job=checkgrad', '--job: expected train or test, got "checkgrad".'],
  ['--job=test', '--job=test needs the first pass to test.'],
  ['--job=test --test_pass=0 --pservers=a', '--job=test works in one process, and --pservers names servers.'],
  ['--start_pass=2', '--start_pass=2 goes on from pass 1, and --save_dir does not say where that is.'],
  ['--local=1 --num_gradient_servers=2', '--local=1 is one trainer alone, and --num_gradient_servers=2 means 2.'],
  ['--pservers=10.0.0.1,', '--pservers="10.0.0.1,": a host of the list is empty.'],
  ['--pservers=a,b,a', '--pservers: a is named twice.'],
  ['--config_args=x', '--config_args: expected name=value pairs, got "x".'],
])('%s: %s', (line, message) => {
  expect(checkTrainerOptions(line.split(' ')).map((problem) => problem.message)).toEqual([message])
})

test.each(Object.entries(TRAINER_OPTIONS).filter(([, { type }]) => type !== 'text'))(
  'a value that --%s cannot have is named with what it can',
  (name, { of }) => {
    const [problem, ...others] = checkTrainerOptions([`--${name}=-1`], of[0])
    expect(others).toEqual([])
    expect(problem).toMatchObject({ option: `--${name}`, message: expect.stringContaining('"-1"') })
    expect(problem!.hint).toContain(`--${name}=`)
  },
)

test('a server names options that are not its own; all problems come at once', () => {
  const messages = checkTrainerOptions(['--num_passes=2', '--port=x', '--prt=1'], 'pserver').map((p) => p.message)
  expect(messages).toEqual([
    '--num_passes is an option of oarfish trainer, not of oarfish pserver.',
    '--port: expected a whole number from 1 to 65535, got "x".',
    'There is no option --prt - did you mean --port?',
  ])
})
