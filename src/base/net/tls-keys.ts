/** @file What encrypts the connections of a job: files that the user names, or certificates made of the job's token. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { UserError } from '../util/index.ts'
import { jobCertificate } from './certificate.ts'

/** PEM texts. */
export interface TlsKeys {
  readonly cert: string
  readonly key: string
  /** Who must have signed the other side's certificate. */
  readonly ca: string
}

/** Paths of PEM files. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly ca: string
}

/** `auto`: certificates are made for the job by its processes, which all know its token. */
export type TlsSetting = 'auto' | TlsFiles

export interface TlsSecrets {
  readonly token: string
  /** The token is made of what anybody may know. */
  readonly derivedToken?: boolean | undefined
}

export function openTls(setting: TlsSetting | undefined, { token, derivedToken }: TlsSecrets): TlsKeys | undefined {
  if (setting === undefined) return undefined
  if (setting !== 'auto') return checked(setting, readFiles(setting))
  if (derivedToken)
    throw tlsError(
      'certificates that are made for the job (tls: auto) need its token, and OARFISH_JOB_TOKEN is not set',
      'set the same OARFISH_JOB_TOKEN for every process of the job, or name certificates: runner.tls: {cert, key, ca}',
    )
  return jobCertificate(token)
}

/** The certificate and key of a program that serves HTTPS. */
export function readServerKeys(cert: string | undefined, key: string | undefined): Omit<TlsKeys, 'ca'> | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw tlsError('--tls-cert and --tls-key belong together', 'give both: --tls-cert cert.pem --tls-key key.pem')
  return checked({ cert, key }, { cert: readFile('--tls-cert', cert), key: readFile('--tls-key', key) })
}

function readFiles({ cert, key, ca }: TlsFiles): TlsKeys {
  return { cert: readFile('cert', cert), key: readFile('key', key), ca: readFile('ca', ca) }
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw tlsError(`${name}: ${path} cannot be read: ${(error as Error).message}`, 'name a PEM file', error)
  }
}

/** What is wrong with the files is said when the process starts, not by the first connection. */
function checked<T extends { readonly cert: string; readonly key: string }>(paths: Partial<TlsFiles>, keys: T): T {
  try {
    createSecureContext({ ...keys, minVersion: 'TLSv1.3' })
  } catch (error) {
    throw tlsError(
      `${paths.cert} and ${paths.key} cannot be used: ${(error as Error).message}`,
      'name a certificate and its own private key, both as PEM without a password',
      error,
    )
  }
  const { validTo } = new X509Certificate(keys.cert)
  if (Date.parse(validTo) < Date.now())
    throw tlsError(`${paths.cert} was good until ${validTo}`, 'make a new certificate')
  return keys
}

export function tlsError(message: string, hint: string, cause?: unknown): UserError {
  return new UserError(`TLS: ${message}`, { code: 'NET_TLS', hint, cause })
}
