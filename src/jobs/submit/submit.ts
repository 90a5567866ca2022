/** @file Carrying out a prepared submission: the folder, the credentials, `sh job.sh`. */
import { spawn } from 'node:child_process'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { shellWord, UserError } from '../../base/util/index.ts'
import { maskOf, saveCredentials } from './credentials.ts'
import { bytesOfContent } from './job.ts'
import type { Prepared } from './prepare.ts'

export interface SubmitContext {
  readonly cwd: string
  /** `~/.config/oarfish/credentials`. */
  readonly credentialsFile: string
  /** Environment of job.sh; PATH leads to this package's commands. */
  readonly env: NodeJS.ProcessEnv
  readonly out: (text: string) => void
  /** Whether Ctrl+C of a terminal reaches job.sh by itself. */
  readonly isInteractive: boolean
  /** Calls the listener at each signal to stop; returns how to stop listening. */
  readonly onSignal: (listener: (signal: NodeJS.Signals) => void) => () => void
}

/** Prints what PaddleRec prints. Throws where job.sh fails, which says why. */
export async function submit({ job, plan, credentials }: Prepared, context: SubmitContext): Promise<void> {
  const mask = maskOf(Object.values(credentials ?? {}))
  const say = (line: string) => context.out(`${mask(line)}\n`)
  const folder = await makeFolder(plan.folder)
  say(`The task submission folder is generated at ${folder}`)
  say('before_submit')
  for (const { name, content } of job.files) {
    if (content.path !== undefined) await copyFile(resolve(context.cwd, content.path), join(folder, name))
    else await writeFile(join(folder, name), bytesOfContent(content))
  }
  const kind = job.kind.endsWith('_MPI') ? 'mpi' : 'k8s'
  const messages: Readonly<Record<string, string>> = {
    'before_hook.sh': `gen ${job.kind.startsWith('COLLECTIVE') ? 'gpu' : 'cpu'} before_hook.sh`,
    'config.ini': `gen ${kind}_config.ini`,
    'job.sh': `gen ${kind}_job.sh`,
    'end_hook.sh': 'gen end_hook.sh',
  }
  for (const { path, text } of plan.files) await writeFile(join(folder, basename(path)), text)
  for (const message of Object.values(messages)) say(message)
  if (credentials) await saveCredentials(context.credentialsFile, job.secrets.profile, credentials)
  const code = await runScript(folder, context, mask)
  if (code === 0) return say('end submit')
  throw new UserError(`The job was not submitted: job.sh ended with exit code ${code}.`, {
    code: 'SUBMIT_FAILED',
    hint: `Why is said above, and nothing runs on the cluster. Mend backend.yaml and submit again, or mend the folder and run sh job.sh in ${folder}.`,
  })
}

/** What --dry-run prints: every file and what would be done. */
export function describePlan({ job, plan, credentials }: Prepared): string {
  const mask = maskOf(Object.values(credentials ?? {}))
  const copies = job.files.flatMap(({ name, content }) =>
    content.path === undefined ? [] : [`${content.path} -> ${join(plan.folder, name)}`],
  )
  const files = plan.files.map(({ path, text }) => `==> ${path} <==\n${text.trimEnd()}`)
  const step = `submit the folder: cd ${shellWord(plan.folder)} && sh job.sh`
  return mask([`folder ${plan.folder}`, ...copies, '', ...files, '', step, ''].join('\n'))
}

/** A second submission in the same minute gets a folder of its own. */
async function makeFolder(wanted: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const folder = attempt === 1 ? wanted : `${wanted}_${attempt}`
    try {
      await mkdir(folder)
      return folder
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/** A job that runs while job.sh does is stopped by it, in good order: signals are passed on, and its end is waited for. */
function runScript(folder: string, context: SubmitContext, mask: (text: string) => string): Promise<number> {
  const { env, out, isInteractive, onSignal } = context
  // A proxy is for the world outside; job servers are inside.
  const { http_proxy: _http, https_proxy: _https, ...rest } = env
  return new Promise((done, fail) => {
    const child = spawn('sh', ['job.sh'], {
      cwd: folder,
      env: rest,
      detached: !isInteractive,
      stdio: ['inherit', 'pipe', 'pipe'], // it may ask whether to replace a job
    })
    const stopListening = onSignal((signal) => {
      if (!isInteractive || signal !== 'SIGINT') child.kill(signal)
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => out(mask(text)))
    }
    child.on('error', fail)
    child.on('close', stopListening)
    child.on('close', (code, signal) => done(code ?? (signal ? 130 : 1)))
  })
}
