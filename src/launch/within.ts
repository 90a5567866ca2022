/** @file Waiting no longer than so long. */

/** Whether `work` ends within so many milliseconds. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  return await Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer))
}
