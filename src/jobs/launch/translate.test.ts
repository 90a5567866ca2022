import { expect, test } from 'vitest'
import { leftInLine, TOOLS, translateLine, translateScript } from './translate.ts'

const exists =
  (...paths: string[]) =>
  (path: string) =>
    paths.includes(path)
const nothing = exists()

test.each([
  ['python -m paddlerec.run -m config.yaml', 'oarfish run -m config.yaml'],
  ['python3 -u -m paddlerec.run -m a.yaml', 'oarfish run -m a.yaml'],
  ['python -m paddle.distributed.launch --ips=a,b x.py', 'oarfish launch --ips=a,b x.py'],
  ['python -m paddle.distributed.launch_ps --worker_num 2 d.py', 'oarfish launch_ps --worker_num 2 d.py'],
  ['python -u tools/static_trainer.py -m c.yaml', 'oarfish tool static_trainer -m c.yaml'],
  ['python ../../../tools/trainer.py -m config.yaml', 'oarfish tool trainer -m config.yaml'],
  ['/opt/py/bin/python3.7 -u tools/infer.py', 'oarfish tool infer'],
  ['cd /ws && python tools/static_infer.py -m c.yaml', 'cd /ws && oarfish tool static_infer -m c.yaml'],
  ['A=1 B="x y" python -m paddlerec.run', 'A=1 B="x y" oarfish run'],
  ['cd a && CPU_NUM=2 python -m paddlerec.run > log 2>&1', 'cd a && CPU_NUM=2 oarfish run > log 2>&1'],
  ['export A=1; python -m paddlerec.run -m c.yaml', 'export A=1; oarfish run -m c.yaml'],
  ['sh x.sh && python -m paddlerec.run', 'sh x.sh && oarfish run'],
  ['sh x.sh 2>&1 | tee log\npython3 -m paddlerec.run &> all', 'sh x.sh 2>&1 | tee log\noarfish run &> all'],
  ['if test -f "a;b"; then exec python -m paddlerec.run; fi', 'if test -f "a;b"; then exec oarfish run; fi'],
  ['(python -m paddlerec.run)', '(oarfish run)'],
  ["echo $A 'x;y' && nohup python -m paddlerec.run &", "echo $A 'x;y' && nohup oarfish run &"],
  [
    'python -m paddlerec.run -m a.yaml && python -m paddlerec.run -m b.yaml',
    'oarfish run -m a.yaml && oarfish run -m b.yaml',
  ],
])('%s becomes %s', (line, translated) => {
  expect(translateLine(line, nothing)).toBe(translated)
})

test('a program is taken as .ts when only that exists, seen from the folder of the line', () => {
  const line = 'cd /workspace/ctr && python train.py --is_local 0 --cloud_train 1'
  const translated = 'cd /workspace/ctr && oarfish exec train.ts --is_local 0 --cloud_train 1'
  expect(translateLine(line, exists('/workspace/ctr/train.ts'))).toBe(translated)
  expect(translateLine(line, exists('train.ts'))).toBe(line)
  expect(translateLine(line, exists('/workspace/ctr/train.ts', '/workspace/ctr/train.py'))).toBe(line)
  expect(translateLine('cd "my a" && cd b && python x.py', exists('my a/b/x.ts'))).toContain('oarfish exec x.ts')
})

test.each([
  'python my_reader.py',
  'python -m http.server',
  'python -c "import sys"',
  'echo python tools/trainer.py',
  'ipython tools/trainer.py',
  'fleetrun --worker_num=1 tools/static_ps_trainer.py',
  'python tools/trainer.pyc',
  '',
])('%s stays as it is', (line) => {
  expect(translateLine(line, nothing)).toBe(line)
})

test("a user's own program wins over the tool of its name, in TypeScript only", () => {
  expect(translateScript('trainer.py', [], exists('trainer.ts'))).toEqual(['oarfish', 'exec', 'trainer.ts'])
  expect(translateScript('trainer.py', [], exists('trainer.py', 'trainer.ts'))).toEqual(['oarfish', 'tool', 'trainer'])
})

test.each(TOOLS)("the launchers' script tools/%s.py need not exist", (tool) => {
  const words = ['oarfish', 'tool', tool, '-m', 'c.yaml']
  expect(translateScript(`tools/${tool}.py`, ['-m', 'c.yaml'], nothing)).toEqual(words)
})

test('other scripts of a launcher run as what they are', () => {
  expect(translateScript('a.ts', ['-x'], nothing)).toEqual(['oarfish', 'exec', 'a.ts', '-x'])
  expect(translateScript('a.py', ['-x'], exists('a.py'))).toEqual(['python', '-u', 'a.py', '-x'])
  expect(translateScript('./a.sh', ['-x'], nothing)).toEqual(['./a.sh', '-x'])
})

test('what cannot be translated is found', () => {
  const line = 'bash -c "python -m paddlerec.run -m c.yaml"'
  expect(translateLine(line, nothing)).toBe(line)
  expect(leftInLine(line)).toBe('python -m paddlerec.run')
  expect(leftInLine(translateLine('export A=1; python -m paddlerec.run', nothing))).toBeUndefined()
  expect(leftInLine('python -m http.server')).toBeUndefined()
})
