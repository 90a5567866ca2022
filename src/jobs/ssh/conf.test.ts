/** @file conf.py as the guide has it, the same as yaml, and what is wrong with others: each with its place. */
import { describe, expect, test } from 'vitest'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import { parseClusterConf } from './conf.ts'
import { parseHost } from './host.ts'

const GUIDE = `HOSTS = [
        "root@192.168.100.17",
        "root@192.168.100.18",
        ]

'''
工作空间配置
'''

#工作空间根目录
ROOT_DIR = "/home/paddle"

'''
网络配置
'''
#pserver NIC
PADDLE_NIC = "eth0"
PADDLE_PORT = 7164
PADDLE_PORTS_NUM = 2
#pserver sparse ports num
PADDLE_PORTS_NUM_FOR_SPARSE = 2

LD_LIBRARY_PATH="/usr/local/cuda/lib64:/usr/lib64"
`

const CONF = {
  hosts: [
    { name: 'root@192.168.100.17', destination: 'root@192.168.100.17' },
    { name: 'root@192.168.100.18', destination: 'root@192.168.100.18' },
  ],
  rootDir: '/home/paddle',
  nic: 'eth0',
  port: 7164,
  portsNum: 2,
  portsNumForSparse: 2,
  ldLibraryPath: '/usr/local/cuda/lib64:/usr/lib64',
}

test('conf.py of the guide is read, its texts that stand alone are comments', () => {
  expect(parseClusterConf('conf.py', GUIDE)).toEqual(CONF)
})

test('the same keys as yaml mean the same', () => {
  const yaml = `HOSTS: [root@192.168.100.17, root@192.168.100.18]\nLD_LIBRARY_PATH: /usr/local/cuda/lib64:/usr/lib64\n`
  expect(parseClusterConf('conf.yaml', yaml)).toEqual(CONF)
})

test("Python's ways to write literals: tuples, texts side by side, escapes, other numbers, continued lines", () => {
  const text = `HOSTS = ('a.example' ":22", r"b", ); PADDLE_PORT = \\\n  0x1C_20\r\nROOT_DIR = ("/data/\\"x\\"/")  # kept\n`
  const conf = parseClusterConf('conf.py', text)
  expect(conf).toMatchObject({ rootDir: '/data/"x"', port: 7200 })
  expect(conf.hosts).toEqual([
    { name: 'a.example:22', destination: 'a.example', port: 22 },
    { name: 'b', destination: 'b' },
  ])
})

describe.each([
  ['import os\nHOSTS = ["a"]', 'conf.py:1:8 expected "=" after import, found "os".'],
  ['HOSTS = ["a"]\nROOT_DIR = os.getcwd()', 'conf.py:2:12 os would have to be computed; write the value itself.'],
  ['HOSTS = ["a"]\nROOT_DIR = f"/home/{user}"', 'conf.py:2:12 f"..." would have to be computed'],
  ['HOSTS = ["a"] + MORE', 'conf.py:1:15 expected the end of the line, found "+".'],
  ['HOSTS = ["a" "b"', 'conf.py:1:17 expected "," or "]", found the end of the file.'],
  ['HOSTS = ["a]\n', 'conf.py:1:10 The text that begins here has no closing ".'],
  ['ROOT_DIR = "/x"', 'conf.py HOSTS: expected a list with at least one host'],
  ['HOSTS = [\n  "root@a",\n  "root@@b",\n]', 'conf.py:3:3 HOSTS: "root@@b" is not user@host:port.'],
  ['HOSTS = ["-oProxyCommand=x"]', 'conf.py:1:10 HOSTS: "-oProxyCommand=x" is not user@host:port.'],
  ['HOSTS = ["a", 7]', 'conf.py:1:15 HOSTS: 7 is not user@host:port.'],
  ['HOSTS = ["x@a",\n "y@A:22"]', 'conf.py:2:2 HOSTS: "y@A:22" is there twice, first as "x@a" in line 1'],
  ['HOSTS = ["a"]\nPADDLE_PORTS = 2', 'conf.py:2:1 PADDLE_PORTS: unknown key - did you mean PADDLE_PORT?'],
  [
    'HOSTS = ["a"]\nPADDLE_PORT = "7164"',
    'conf.py:2:15 PADDLE_PORT: expected a whole number from 1 to 65535, found "7164".',
  ],
  ['HOSTS = ["a"]\nPADDLE_PORT = 65535', 'conf.py:2:1 PADDLE_PORT: the last port would be 65538.'],
  ['HOSTS = ["a"]\nROOT_DIR = "data"', 'conf.py:2:12 ROOT_DIR: expected the absolute path'],
])('what is wrong is reported with its place: %j', (text, message) => {
  test(message, () => expect(failure('conf.py', text)).toContain(message))
})

test('all problems of a file are reported at once', () => {
  const reported = failure('conf.yaml', 'HOSTS: [a, a]\nPADDLE_NIC: eth0;reboot\nPADDLE_PORTS_NUM: 0\n')
  expect(reported.match(/conf\.yaml:\d+:\d+/g)).toEqual(['conf.yaml:1:12', 'conf.yaml:2:13', 'conf.yaml:3:19'])
})

test('hosts may have a user, a port, brackets around an IPv6 address', () => {
  expect(parseHost('root@192.168.100.17:9090')).toEqual({
    name: 'root@192.168.100.17:9090',
    destination: 'root@192.168.100.17',
    port: 9090,
  })
  expect(parseHost('[fe80::1]:22')).toMatchObject({ destination: 'fe80::1', port: 22 })
  for (const text of ['', 'a b', 'a:0', 'a:65536', 'a:x', '@a', 'a@', '-v'])
    expect(parseHost(text), text).toBeUndefined()
})

function failure(file: string, text: string): string {
  try {
    parseClusterConf(file, text)
  } catch (error) {
    if (isUserError(error) && error.code === 'SSH_CONF') return formatUserError(error)
    throw error
  }
  throw new Error('it was read')
}
