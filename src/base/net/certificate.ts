/** @file Certificates of one job: signed by a key that is made of the job's token, so that every process that knows the token can make its own and check the others'. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import type { TlsKeys } from './tls-keys.ts'

/** A certificate for this process, and that of the job's own authority. */
export function jobCertificate(token: string): TlsKeys {
  const authority = authorityKey(token)
  const own = generateKeyPairSync('ed25519')
  const subject = `process ${randomBytes(6).toString('hex')}`
  return {
    cert: pem(certificate({ issuer: AUTHORITY, subject, key: own.publicKey, signer: authority, isAuthority: false })),
    key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    ca: pem(
      certificate({
        issuer: AUTHORITY,
        subject: AUTHORITY,
        key: createPublicKey(authority),
        signer: authority,
        isAuthority: true,
      }),
    ),
  }
}

const AUTHORITY = 'oarfish job'
/** PKCS #8 of an Ed25519 key, up to its 32 bytes. */
const KEY_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

function authorityKey(token: string): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', token, '', 'oarfish: authority of a job', 32))
  return createPrivateKey({ key: Buffer.concat([KEY_HEAD, seed]), format: 'der', type: 'pkcs8' })
}

interface CertificateOptions {
  readonly issuer: string
  readonly subject: string
  readonly key: KeyObject
  readonly signer: KeyObject
  readonly isAuthority: boolean
}

// Tags of DER.
const [BOOLEAN, INTEGER, BITS, OCTETS, OID, UTF8, UTC_TIME] = [0x01, 0x02, 0x03, 0x04, 0x06, 0x0c, 0x17] as const
const [SEQUENCE, SET, FIELD_0, FIELD_3] = [0x30, 0x31, 0xa0, 0xa3] as const

const ED25519 = der(SEQUENCE, oid('2b6570'))
const COMMON_NAME = oid('550403')
const BASIC_CONSTRAINTS = oid('551d13')
const KEY_USAGE = oid('551d0f')
const EXTENDED_KEY_USAGE = oid('551d25')
const [SERVER_AUTH, CLIENT_AUTH] = [oid('2b06010505070301'), oid('2b06010505070302')]
const YES = der(BOOLEAN, Buffer.from([0xff]))
// As long as the token is good, so that clocks that differ from host to host are no matter.
const VALIDITY = der(SEQUENCE, der(UTC_TIME, Buffer.from('200101000000Z')), der(UTC_TIME, Buffer.from('491231235959Z')))

function certificate({ issuer, subject, key, signer, isAuthority }: CertificateOptions): Buffer {
  const serial = isAuthority ? Buffer.from([1]) : Buffer.concat([Buffer.from([0x40]), randomBytes(15)])
  const body = der(
    SEQUENCE,
    der(FIELD_0, der(INTEGER, Buffer.from([2]))), // version 3
    der(INTEGER, serial),
    ED25519,
    nameOf(issuer),
    VALIDITY,
    nameOf(subject),
    key.export({ type: 'spki', format: 'der' }),
    der(FIELD_3, der(SEQUENCE, ...(isAuthority ? AUTHORITY_EXTENSIONS : PROCESS_EXTENSIONS))),
  )
  return der(SEQUENCE, body, ED25519, der(BITS, Buffer.from([0]), sign(null, body, signer)))
}

const extension = (name: Buffer, isCritical: boolean, content: Buffer) =>
  der(SEQUENCE, name, ...(isCritical ? [YES] : []), der(OCTETS, content))

const AUTHORITY_EXTENSIONS = [
  extension(BASIC_CONSTRAINTS, true, der(SEQUENCE, YES)),
  extension(KEY_USAGE, true, der(BITS, Buffer.from([2, 0x04]))), // signs certificates
]
const PROCESS_EXTENSIONS = [
  extension(BASIC_CONSTRAINTS, true, der(SEQUENCE)),
  extension(KEY_USAGE, true, der(BITS, Buffer.from([7, 0x80]))), // signs
  extension(EXTENDED_KEY_USAGE, false, der(SEQUENCE, SERVER_AUTH, CLIENT_AUTH)),
]

function nameOf(text: string): Buffer {
  return der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, Buffer.from(text)))))
}

function oid(hex: string): Buffer {
  return der(OID, Buffer.from(hex, 'hex'))
}

/** Tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g)!
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
