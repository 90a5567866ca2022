/** @file Whose processes a job's are: the uid of its user, with the home and the group that the system knows for it. */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'

export interface RunAs {
  readonly uid: number
  readonly gid: number
  /** In place of the server's own. */
  readonly env: Readonly<Record<string, string>>
}

/** A uid that has no entry gets a group of the same number, and the root folder as its home: root's is closed to it. */
export function runAs(uid: number): RunAs {
  const { stdout } = spawnSync('getent', ['passwd', String(uid)], { encoding: 'utf8' })
  const [name, , , gid, , home, shell] = (stdout ?? '').trim().split(':')
  if (!name) return { uid, gid: uid, env: { HOME: '/', USER: String(uid), LOGNAME: String(uid) } }
  const env = { HOME: home || '/', USER: name, LOGNAME: name, SHELL: shell || '/bin/sh' }
  return { uid, gid: Number(gid), env }
}

/** Whether a process is of this user. Where the system does not say whose a process is, it is believed. */
export function isOf(pid: number, { uid }: RunAs): boolean {
  return !existsSync('/proc/self') || statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid
}

/** Asks a process to end, with no more rights than its user has. */
export function endAs(pid: number, { uid, gid }: RunAs): void {
  spawnSync('kill', ['-TERM', String(pid)], { uid, gid, stdio: 'ignore' })
}
