/**
 * @file Where the threads of this process are: their stacks, asked for by SIGUSR1 or because one does not come on.
 * Knows nothing of what threads do.
 */
export { processStacks, stackOfMain, stacksText, type ThreadStack, threadStacks } from './stacks.ts'
