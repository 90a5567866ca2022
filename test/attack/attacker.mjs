/**
 * @file Attacks on the ports of a running job, as somebody would who can reach them and does not belong. Prints what it learned as one line
 * of JSON. One entry in ATTACKS each; `node test/attack/attacker.mjs NAME HOST:PORT [SECONDS] [RATE]`.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { crc32 } from 'node:zlib'

const TYPES = { hello: 1, request: 2, response: 3, failure: 4, ping: 5, abort: 6, bye: 7 }
const VERSION = 2
const [name = '', target = '', seconds = '2', rate = '100'] = process.argv.slice(2)
const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(target) ?? []
/** What the attacker may know of a job: nothing that is secret. */
const known = JSON.parse(process.env['ATTACK_KNOWS'] ?? '{}')

export function frame(type, body, { method = 0, id = 0 } = {}) {
  const content = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const head = Buffer.alloc(16)
  head.writeUInt32LE(content.length, 0)
  head.writeUInt8(TYPES[type] ?? type, 8)
  head.writeUInt8(method, 9)
  head.writeUInt32LE(id, 12)
  const crc = crc32(head.subarray(8))
  head.writeUInt32LE(content.length > 0 ? crc32(content, crc) : crc, 4)
  return Buffer.concat([head, content])
}

/** Opens a connection; `said` is everything that came back. */
export async function dial(open = () => connect({ host, port: Number(port) })) {
  const socket = open()
  const connection = { socket, said: Buffer.alloc(0), closed: undefined, frames: [] }
  let rest = Buffer.alloc(0)
  let wake = () => {}
  connection.closed = new Promise((resolve) => {
    socket.on('error', () => undefined)
    socket.on('close', () => {
      wake()
      resolve()
    })
  })
  socket.on('data', (piece) => {
    connection.said = Buffer.concat([connection.said, piece])
    rest = Buffer.concat([rest, piece])
    while (rest.length >= 16 && rest.length >= 16 + rest.readUInt32LE(0)) {
      const bytes = rest.readUInt32LE(0)
      connection.frames.push({ type: rest.readUInt8(8), body: rest.subarray(16, 16 + bytes).toString('utf8') })
      rest = rest.subarray(16 + bytes)
    }
    wake()
  })
  connection.next = async () => {
    while (connection.frames.length === 0 && !socket.destroyed) {
      await new Promise((resolve) => {
        wake = resolve
      })
    }
    return connection.frames.shift()
  }
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  return connection
}

const within = (ms, work) => Promise.race([work, new Promise((resolve) => setTimeout(resolve, ms, 'late'))])
const textOf = (connections) => connections.map(({ said }) => said.toString('latin1')).join('\n')

/** Says words one after the other, each after an answer; ends with what was heard. */
async function converse(words) {
  const connection = await dial()
  for (const word of words) {
    const heard = await within(3000, connection.next())
    if (heard === undefined || heard === 'late') break
    connection.socket.write(typeof word === 'function' ? word(heard) : word)
  }
  await within(3000, connection.closed)
  const isOpen = !connection.socket.destroyed
  connection.socket.destroy()
  return { connection, isOpen }
}

/** The words of one who takes the token to be `token`: its proof, then its hello. */
function session(token) {
  const nonce = randomBytes(16).toString('hex')
  let theirs = ''
  const sign = (content) =>
    createHmac('sha256', token)
      .update(JSON.stringify(['oarfish', VERSION, 'client', theirs, nonce, '', content]))
      .digest('hex')
  return {
    proof: ({ body }) => {
      theirs = JSON.parse(body).nonce
      return frame('hello', { version: VERSION, nonce, proof: sign('') })
    },
    hello: ({ jobId, role, rank, agreement }) => {
      const content = JSON.stringify([jobId, role, rank, Object.entries(agreement).sort(), []])
      return () => frame('hello', { jobId, role, rank, agreement, facts: {}, proof: sign(content) })
    },
  }
}

/** Tokens that can be made of what everybody knows. */
function publicTokens() {
  const { servers = [target], workers = 1, master = target, jobId = 'default' } = known
  return [
    createHash('sha256')
      .update(`${servers.join(',')} ${workers}`)
      .digest('hex'),
    createHash('sha256').update(`${master} ${jobId}`).digest('hex'),
    '',
    'oarfish',
  ]
}

const ATTACKS = {
  /** Listens to what a port says by itself, and to what it answers to a wrong proof. */
  async listen() {
    const wrong = { version: VERSION, nonce: '0'.repeat(32), proof: 'f'.repeat(64) }
    const talks = [await converse([]), await converse([frame('hello', wrong)])]
    return {
      heard: textOf(talks.map(({ connection }) => connection)),
      open: talks.filter(({ isOpen }) => isOpen).length,
    }
  },

  /** Joins with every token that could be guessed, or those of `knows.tokens`; `in` counts those that were believed. */
  async guess() {
    const talks = []
    for (const token of known.tokens ?? publicTokens())
      talks.push(await converse([session(token).proof, frame('hello', {})]))
    const answers = talks.map(({ connection }) => connection.said.toString('latin1'))
    return { in: answers.filter((text) => text.includes('"proof"')).length, heard: answers.join('\n') }
  },

  /** Says what no process of a job says, before and instead of a hello. */
  async rubbish() {
    const hello = (body) => frame('hello', body)
    const talks = []
    for (const word of [
      Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
      randomBytes(4096),
      hello('{'),
      hello('null'),
      hello('[]'),
      hello('"x"'),
      hello({ version: VERSION, nonce: 7, proof: {} }),
      hello({ version: VERSION, nonce: '0'.repeat(32), proof: '0'.repeat(64), rank: -1 }),
      hello({ __proto__: null, constructor: { prototype: { polluted: 1 } } }),
      hello('['.repeat(60_000)),
      hello({ version: 1e308 }),
      frame('request', Buffer.alloc(64), { method: 9, id: 1 }),
      frame('abort', { name: 'Error', message: 'the job ends' }),
      frame('bye', ''),
      frame(99, 'x'),
      (() => {
        const huge = frame('hello', 'x')
        huge.writeUInt32LE(0xffffffff, 0)
        return huge
      })(),
    ])
      talks.push(await converse([word]))
    return {
      heard: textOf(talks.map(({ connection }) => connection)),
      open: talks.filter(({ isOpen }) => isOpen).length,
    }
  },

  /** Opens connections and says nothing. */
  async silent() {
    const connections = await Promise.all(Array.from({ length: 300 }, () => dial()))
    await within(1000 * Number(seconds), new Promise(() => undefined))
    const open = connections.filter(({ socket }) => !socket.destroyed).length
    for (const { socket } of connections) socket.destroy()
    return { open }
  },

  /** So many wrong hellos a second, each left open for half a second. By the system's own calls: its own work is not to be what slows the job. */
  async flood() {
    const { open, close } = await systemSockets()
    const [perSecond, until] = [Number(rate), Date.now() + 1000 * Number(seconds)]
    const sockets = []
    let [sent, refused] = [0, 0]
    const word = frame('hello', { version: VERSION, nonce: '0'.repeat(32), proof: 'f'.repeat(64) })
    for (const began = Date.now(); Date.now() < until; ) {
      const due = Math.floor(((Date.now() - began) / 1000) * perSecond)
      for (; sent < due; sent++) {
        const fd = open(word)
        if (fd < 0) refused++
        else sockets.push(fd)
      }
      while (sockets.length > perSecond / 2) close(sockets.shift())
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const { user, system } = process.cpuUsage()
    return { sent, refused, ownSeconds: (user + system) / 1e6 }
  },

  /** Comes to a master as hosts that are none, with the token that can be made of its address. */
  async join() {
    const heard = []
    for (const node of [
      undefined,
      {},
      { host: 'evil' },
      { host: 'evil', endpoints: 'x', devices: [] },
      { host: 'evil', endpoints: ['evil:1'], devices: [] },
      { host: 'evil', endpoints: [`${target}`], devices: [[]], extra: 1 },
      { host: '\u001b[2J', endpoints: ['evil:1'], devices: [[]] },
    ]) {
      const talk = await converse(joinWords(session(publicTokens()[1]), node))
      heard.push(talk.connection.said.toString('latin1'))
    }
    return { heard: heard.join('\n'), in: heard.filter((text) => text.includes('"proof"')).length }
  },

  /** Asks a page for what it must not give, and posts what it must not take; `in` counts answers below 400. `knows.tried` are tokens to try. */
  async web() {
    const { paths = [], tried = ['', 'wrong', 'null', '0'.repeat(4096)] } = known
    const traversals = [
      '/../../../../etc/passwd',
      '/..%2f..%2f..%2fetc%2fpasswd',
      '/%00',
      '//',
      '/%',
      '/api/runs/__proto__',
    ]
    const head = (method, path, lines = []) =>
      `${method} ${path} HTTP/1.1\r\nHost: ${target}\r\n${lines.join('\r\n')}${lines.length > 0 ? '\r\n' : ''}`
    const asked = paths.flatMap((path) => [
      ...tried.map((token) => head('GET', `${path}?token=${token}`)),
      ...tried.map((token) =>
        head('GET', path, [`Authorization: Bearer ${token}`, `Cookie: oarfish_dashboard_${port}=${token}`]),
      ),
      ...['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'].map((method) =>
        head(method, path, ['Content-Length: 2']),
      ),
      head('GET', path, ['Host: evil.example']),
      head('GET', path).replace(`Host: ${target}`, 'Host: evil.example'),
      head('GET', path, [`X: ${'y'.repeat(64 * 1024)}`]),
      head('POST', path, ['Content-Length: 99999999999']),
    ])
    const rest = [...traversals.map((path) => head('GET', path)), 'rubbish\r\n']
    return await told([...asked, ...rest].map((text) => [text, text.includes('Content-Length: 2') ? '{}' : '']))
  },

  /** Asks a server for another version: with `knows.tried` as proofs, by other ways to the same path, with bodies that are none. */
  async admin() {
    const { tried = [], version = '20190720/1' } = known
    const post = (path, lines, body, method = 'POST') => {
      const length = lines.some((line) => /^(content-length|transfer-encoding)/i.test(line))
      const all = [`Host: ${target}`, ...lines, ...(length ? [] : [`Content-Length: ${Buffer.byteLength(body)}`])]
      return [`${method} ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n`, body]
    }
    const wanted = JSON.stringify({ at: version })
    const [first = ''] = tried
    const path = '/admin/rollback'
    return await told([
      ...tried.map((proof) => post(path, proof === '' ? [] : [`Authorization: ${proof}`], wanted)),
      ...['?token=', '?authorization=Bearer%20'].map((query) => post(`${path}${query}${first}`, [], wanted)),
      ...OTHER_WAYS.map((way) => post(way, [`Authorization: ${first}`], wanted)),
      ...['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map((method) =>
        post(path, [`Authorization: ${first}`, 'X-HTTP-Method-Override: POST'], wanted, method),
      ),
      ...NO_VERSIONS.map((body) => post(path, [`Authorization: ${first}`], body)),
      post(path, [`Authorization: ${first}`, 'Content-Length: 99999999999'], wanted),
      post(path, [`Authorization: ${first}`, 'Content-Length: -1'], wanted),
      post(
        path,
        [`Authorization: ${first}`, 'Transfer-Encoding: chunked'],
        `200000\r\n${'['.repeat(0x200000)}\r\n0\r\n\r\n`,
      ),
      post(
        path,
        [`Authorization: ${first}`, 'Transfer-Encoding: chunked', 'Content-Length: 3'],
        '3\r\n{}\n\r\n0\r\n\r\n',
      ),
    ])
  },

  /** A certificate of nobody. */
  async tls() {
    const connection = await dial(() => connectTls({ host, port: Number(port), rejectUnauthorized: false }))
    await within(3000, connection.closed)
    connection.socket.destroy()
    return { heard: connection.said.toString('latin1') }
  },
}

/** What is no version, as the body of a request. */
const NO_VERSIONS = [
  ...[
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '7',
    '{"at":7}',
    '{"at":{}}',
    '{"at":["20190720/1"]}',
    '{"AT":null}',
    '\0',
    '\ufeff{}',
  ],
  ...[
    '../../etc/passwd',
    '/etc/passwd',
    '20190720/../..',
    '__proto__',
    'constructor/0',
    '\u001b[2J',
    '%2e%2e/0',
    '',
    ' ',
  ].map((at) => JSON.stringify({ at })),
  ...[JSON.stringify({ at: 'x'.repeat(500_000) }), '['.repeat(500_000), `{"at":${'{"at":'.repeat(100_000)}`],
]
/** What might lead to the same place for a server that takes paths apart. */
const OTHER_WAYS = [
  ...['/admin/rollback/', '//admin/rollback', '/admin//rollback', '/admin/./rollback', '/x/../admin/rollback'],
  ...['/ADMIN/ROLLBACK', '/admin%2frollback', '/admin/rollback%00', '/admin/rollback;x', '/healthz/../admin/rollback'],
]

/** Says each head and body over HTTP, on a connection of its own; `in` counts answers below 400. */
async function told(requests) {
  const heard = []
  for (const [head, body] of requests) {
    const connection = await dial()
    connection.socket.write(`${head}Connection: close\r\n\r\n${body}`)
    await within(3000, connection.closed)
    connection.socket.destroy()
    heard.push(connection.said.toString('latin1'))
  }
  const status = (text) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
  const statuses = [...new Set(heard.map(status))].sort()
  const believed = heard.filter((text) => status(text) > 0 && status(text) < 400)
  return { heard: heard.join('\n'), statuses, sent: heard.length, in: believed.length }
}

/** Opens a connection and says a word, without waiting for anything but the connection; below zero where it was refused. IPv4. */
async function systemSockets() {
  const { default: koffi } = await import('koffi')
  const system = koffi.load(null)
  const socket = system.func('int socket(int domain, int type, int protocol)')
  const connectTo = system.func('int connect(int fd, const uint8_t *address, uint32_t bytes)')
  const send = system.func('int64_t send(int fd, const uint8_t *bytes, size_t count, int flags)')
  const close = system.func('int close(int fd)')
  const address = Buffer.alloc(16)
  address.writeUInt16LE(2, 0) // AF_INET
  address.writeUInt16BE(Number(port), 2)
  address.set(host.split('.').map(Number), 4)
  const open = (word) => {
    const fd = socket(2, 1, 0)
    if (connectTo(fd, address, address.length) === 0) {
      send(fd, word, word.length, 0x4000) // MSG_NOSIGNAL
      return fd
    }
    close(fd)
    return -1
  }
  return { open, close }
}

/** As a launcher says it, up to its join. */
function joinWords({ proof, hello }, node) {
  const { jobId = 'default', nnodes = '2' } = known
  const join = frame('request', { node, rank: -1, id: 'x' }, { method: 1, id: 1 })
  return [proof, hello({ jobId, role: 'worker', rank: 0, agreement: { nnodes } }), join]
}

if (import.meta.filename === process.argv[1]) {
  const attack = ATTACKS[name]
  if (!attack || !port) {
    process.stderr.write(`usage: attacker.mjs ${Object.keys(ATTACKS).join('|')} HOST:PORT [SECONDS] [RATE]\n`)
    process.exit(2)
  }
  process.stdout.write(`${JSON.stringify(await attack())}\n`)
}
