/**
 * @file Delegation tokens of HDFS by Kerberos. Node knows no GSSAPI, so curl asks for one, with the ticket that kinit left; all requests after
 * that carry the token, by plain HTTP.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { UserError } from '../util/index.ts'
import { HttpStatusError } from './http.ts'

const TOKEN_MS = 12 * 60 * 60 * 1000 // they live for a day unless a cluster says otherwise
const ASK_SECONDS = 60

interface Held {
  readonly token: Promise<string>
  readonly at: number
}

/** By the address of the name node: readers open thousands of files, and each would ask. */
const held = new Map<string, Held>()

export async function kerberosToken(base: string): Promise<string> {
  const known = held.get(base)
  if (known && Date.now() - known.at < TOKEN_MS) return await known.token
  const token = askToken(base)
  held.set(base, { token, at: Date.now() })
  token.catch(() => forgetToken(base))
  return await token
}

/** It has expired before its time, or the name node has lost it: the next request asks for another. */
export const forgetToken = (base: string): void => void held.delete(base)

async function askToken(base: string): Promise<string> {
  const words = ['--silent', '--show-error', '--negotiate', '--user', ':', '--max-time', String(ASK_SECONDS)]
  const answer = await promisify(execFile)('curl', [
    ...words,
    ...['--write-out', '\n%{http_code}', `${base}/?op=GETDELEGATIONTOKEN`],
  ]).catch((error: CurlFailure) => {
    throw curlError(error)
  })
  const [, body = '', status = ''] = /^([\s\S]*)\n(\d+)$/.exec(answer.stdout) ?? []
  if (status === '401') throw await unknownHere(base)
  if (status !== '200') throw new HttpStatusError(Number(status), body)
  const { Token } = JSON.parse(body) as { readonly Token?: { readonly urlString: string } | null }
  if (Token) return Token.urlString
  throw kerberosError('HDFS gave no token: it does not ask who is there.', 'Leave kerberos out: fs_ugi: "user,"')
}

type CurlFailure = Error & { readonly code?: number | string; readonly stderr?: string }

/** curl's own codes: an option that it lacks is 2, and what it says of a network is a sentence. */
function curlError(error: CurlFailure): Error {
  if (error.code === 'ENOENT')
    return kerberosError('There is no curl, which asks HDFS for a token.', 'Install it (Debian: curl).')
  if (error.code === 2)
    return kerberosError('The curl of this machine was built without GSSAPI.', 'Install one with it (Debian: curl).')
  return new Error(error.stderr?.trim() || error.message)
}

async function unknownHere(base: string): Promise<UserError> {
  const hasTicket = await promisify(execFile)('klist', ['-s']).then(
    () => true,
    () => false,
  )
  const { hostname } = new URL(base)
  return hasTicket
    ? kerberosError(
        'HDFS refuses the Kerberos ticket of this user.',
        `Name the host in fs_name as its principal has it (HTTP/${hostname} was asked for), and look whether clocks agree: klist`,
      )
    : kerberosError('There is no Kerberos ticket here, and HDFS asks for one.', 'Get one: kinit USER@REALM')
}

const kerberosError = (message: string, hint: string) => new UserError(message, { code: 'FS_KERBEROS', hint })
