/** @file After which epochs a runner saves. */

/** The last always; others when (epoch + 1) is a multiple of the interval, which -1 divides like 1. */
export function savesAfter(epoch: number, epochs: number, interval: number): boolean {
  return epoch === epochs - 1 || (epoch + 1) % interval === 0
}
