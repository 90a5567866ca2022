/** @file A process started by a launcher does not outlive it, however the launcher ended. */
import type { CliIo } from './io.ts'

export async function underLauncher({ env, exit }: Pick<CliIo, 'env' | 'exit'>): Promise<void> {
  const { watchLifeline } = await import('../launch/index.ts')
  watchLifeline({
    env,
    parentPid: process.ppid,
    onLost: () => process.kill(process.pid, 'SIGTERM'),
    leave: () => exit(1),
  })
}
