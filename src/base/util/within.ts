/** @file Waiting with a limit. */

/** Whether `work` ends within so many milliseconds; throws what it throws. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms), false)
  })
  return await Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer))
}
